package ondine

// #include "shims.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Finetune goes from a model and data to a tuned model: it looks at both, prepares, trains,
// evaluates and writes. What is left out is chosen.
type Finetune struct {
	// The inference model, one of these: a file, the bytes of one, or a loaded model with its present
	// weights. None: a new network for the data.
	File  string
	Bytes []byte
	Model *Model
	// The data, one of these: files and folders, which are read as the model takes them, or a data
	// set.
	Places  []string
	Dataset *Dataset
	// Validation data, one of these. None: a part of the data.
	ValidationPlaces []string
	Validation       *Dataset

	Output      string  // file of the tuned inference model to write
	Options     Options // group finetune
	DataOptions Options // group data, for Places
	LoadOptions Options // group load

	OnAssumed func(line string)         // before training, with each line of what was assumed
	OnStep    func(report Report) error // ErrStop ends the run, which then writes no output
	OnEpoch   func(report Report) error // the same after the next step
}

// Run gives the tuned model with its training information, and the finetune report.
func (f *Finetune) Run() (*Model, Report, error) {
	defer runtime.KeepAlive(f)
	var m memory
	defer m.free()
	run := (*C.ondine_finetune_run)(m.alloc(int(unsafe.Sizeof(C.ondine_finetune_run{}))))
	run.file, run.model = m.optional(f.File), f.Model.handle()
	if f.Bytes != nil {
		bytes := m.alloc(len(f.Bytes))
		copy(unsafe.Slice((*byte)(bytes), len(f.Bytes)), f.Bytes)
		run.bytes, run.size = bytes, C.size_t(len(f.Bytes))
	}
	run.places, run.dataset = m.names(f.Places), f.Dataset.handle()
	run.validation_places, run.validation = m.names(f.ValidationPlaces), f.Validation.handle()
	run.output, run.options = m.optional(f.Output), m.options(f.Options)
	run.data_options, run.load = m.options(f.DataOptions), m.options(f.LoadOptions)
	if m.err != nil {
		return nil, Report{}, m.err
	}
	own := register(&calls{text: f.OnAssumed, step: f.OnStep, epoch: f.OnEpoch})
	defer own.forget()
	var p *C.ondine_model
	var text *C.char
	failed := C.ondine_go_finetune(run, own.user(), flag(f.OnStep != nil), flag(f.OnEpoch != nil), &p,
		&text)
	tuned, _ := newModel(p, nil, nil) // before a panic of a callback goes on
	report := takeReport(text)
	if err := check(failed, own); err != nil {
		tuned.Close()
		return nil, report, err
	}
	return tuned, report, nil
}

// NewNetwork gives the bytes of an .onnx file with a small network for the data, and a line about it.
// kind: mlp, cnn, unet, text or audio; "": that which fits. options: group network.
func NewNetwork(kind string, dataset *Dataset, options Options) ([]byte, string, error) {
	defer runtime.KeepAlive(dataset)
	var m memory
	defer m.free()
	name, list := m.optional(kind), m.options(options)
	if m.err != nil {
		return nil, "", m.err
	}
	var bytes unsafe.Pointer
	var size C.size_t
	var text *C.char
	err := check(C.ondine_new_network(name, dataset.handle(), list, &bytes, &size, &text))
	if err != nil {
		return nil, "", err
	}
	return takeBytes(bytes, size), takeText(text), nil
}
