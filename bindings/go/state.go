package ondine

// #include "shims.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Describe tells inputs, outputs, algorithms, state, metadata, warnings, ...
func (m *Model) Describe() (Report, error) {
	return m.report(func(to **C.char) *C.ondine_error {
		return C.ondine_model_describe(m.handle(), to)
	})
}

func (m *Model) report(work func(to **C.char) *C.ondine_error) (Report, error) {
	defer runtime.KeepAlive(m)
	var text *C.char
	if err := m.check(work(&text)); err != nil {
		return Report{}, err
	}
	return takeReport(text), nil
}

// Fingerprint is SHA-256 of the model without the values of its state, in hexadecimal.
func (m *Model) Fingerprint() (string, error) {
	defer runtime.KeepAlive(m)
	var text *C.char
	if err := check(C.ondine_model_fingerprint(m.handle(), &text)); err != nil {
		return "", err
	}
	return takeText(text), nil
}

// Steps counts training steps since the model was loaded or initialized.
func (m *Model) Steps() (uint64, error) {
	defer runtime.KeepAlive(m)
	var steps C.uint64_t
	err := check(C.ondine_model_steps(m.handle(), &steps))
	return uint64(steps), err
}

// Inspect prints a stage: model, graph, training, gradient, optimized, plan.
func (m *Model) Inspect(stage string, algorithm int) (string, error) {
	defer runtime.KeepAlive(m)
	var mem memory
	defer mem.free()
	name := mem.text(stage)
	if mem.err != nil {
		return "", mem.err
	}
	var text *C.char
	if err := check(C.ondine_model_inspect(m.handle(), name, C.size_t(algorithm), &text)); err != nil {
		return "", err
	}
	return takeText(text), nil
}

// Plan tells the memory that a call with these feeds takes. algorithm -1: that of Infer.
func (m *Model) Plan(feeds *Values, algorithm int, fetches ...string) (Report, error) {
	defer runtime.KeepAlive(feeds)
	var mem memory
	defer mem.free()
	names := mem.names(fetches)
	if mem.err != nil {
		return Report{}, mem.err
	}
	return m.report(func(to **C.char) *C.ondine_error {
		return C.ondine_model_plan(m.handle(), feeds.handle(), C.int64_t(algorithm), names, to)
	})
}

// Profile tells seconds by operator since profiling was switched on.
func (m *Model) Profile() (Report, error) {
	return m.report(func(to **C.char) *C.ondine_error {
		return C.ondine_model_profile(m.handle(), to)
	})
}

// State gives a copy of a state variable.
func (m *Model) State(name string) (*Value, error) {
	defer runtime.KeepAlive(m)
	var mem memory
	defer mem.free()
	text := mem.text(name)
	if mem.err != nil {
		return nil, mem.err
	}
	var p *C.ondine_value
	err := check(C.ondine_model_get_state(m.handle(), text, &p))
	return newValue(p, err)
}

// SetState sets all variables that are named or, with an error, none.
func (m *Model) SetState(values *Values) error {
	defer runtime.KeepAlive(m)
	defer runtime.KeepAlive(values)
	return check(C.ondine_model_set_state(m.handle(), values.handle()))
}

// Parameters gives all float32 weights, one after the other in the order of the state.
func (m *Model) Parameters() ([]float32, error) {
	defer runtime.KeepAlive(m)
	var count C.size_t
	if err := check(C.ondine_model_parameter_count(m.handle(), &count)); err != nil {
		return nil, err
	}
	made := make([]float32, int(count))
	first := (*C.float)(unsafe.Pointer(unsafe.SliceData(made)))
	return made, check(C.ondine_model_get_parameters(m.handle(), first, count))
}

// SetParameters sets them.
func (m *Model) SetParameters(numbers []float32) error {
	defer runtime.KeepAlive(m)
	first := (*C.float)(unsafe.Pointer(unsafe.SliceData(numbers)))
	return check(C.ondine_model_set_parameters(m.handle(), first, C.size_t(len(numbers))))
}

// TakeAverages gives every parameter the value of its running average (option average of Prepare).
func (m *Model) TakeAverages() error {
	defer runtime.KeepAlive(m)
	return check(C.ondine_model_take_averages(m.handle()))
}

// file runs a call with the name of a file.
func (m *Model) file(name string, options Options,
	work func(name *C.char, list *C.ondine_option) *C.ondine_error) error {
	defer runtime.KeepAlive(m)
	var mem memory
	defer mem.free()
	text, list := mem.text(name), mem.options(options)
	if mem.err != nil {
		return mem.err
	}
	return m.check(work(text, list))
}

// SaveCheckpoint writes the state so that it survives a crash at any moment.
func (m *Model) SaveCheckpoint(file string) error {
	return m.file(file, nil, func(name *C.char, _ *C.ondine_option) *C.ondine_error {
		return C.ondine_model_save_checkpoint(m.handle(), name)
	})
}

// RestoreCheckpoint gives the restore report.
func (m *Model) RestoreCheckpoint(file string) (Report, error) {
	var text *C.char
	err := m.file(file, nil, func(name *C.char, _ *C.ondine_option) *C.ondine_error {
		return C.ondine_model_restore_checkpoint(m.handle(), name, &text)
	})
	return takeReport(text), err
}

// HasCheckpoint tells whether there is a checkpoint to restore.
func HasCheckpoint(file string) (bool, error) {
	var found C.int
	err := (*Model)(nil).file(file, nil, func(name *C.char, _ *C.ondine_option) *C.ondine_error {
		return C.ondine_has_checkpoint(name, &found)
	})
	return found != 0, err
}

// Check gives all findings on a model: none when it loads with strict=true. options: group load.
func Check(file string, options Options) ([]string, error) {
	var text *C.char
	err := (*Model)(nil).file(file, options, func(name *C.char, list *C.ondine_option) *C.ondine_error {
		return C.ondine_check(name, list, &text)
	})
	var found []string
	for _, one := range takeReport(text).List() {
		found = append(found, one.Text())
	}
	return found, err
}

// ExportInference writes the tuned model. options: group export.
func (m *Model) ExportInference(file string, options Options) error {
	return m.file(file, options, func(name *C.char, list *C.ondine_option) *C.ondine_error {
		return C.ondine_model_export_inference(m.handle(), name, list)
	})
}

// ExportTraining writes the model with its training information. options: group export.
func (m *Model) ExportTraining(file string, options Options) error {
	return m.file(file, options, func(name *C.char, list *C.ondine_option) *C.ondine_error {
		return C.ondine_model_export_training(m.handle(), name, list)
	})
}

// InferenceBytes gives the bytes of the tuned model.
func (m *Model) InferenceBytes() ([]byte, error) {
	defer runtime.KeepAlive(m)
	var bytes unsafe.Pointer
	var size C.size_t
	err := check(C.ondine_model_export_inference_bytes(m.handle(), &bytes, &size))
	if err != nil {
		return nil, err
	}
	return takeBytes(bytes, size), nil
}

// TrainingBytes gives the bytes of the model with its training information.
func (m *Model) TrainingBytes() ([]byte, error) {
	defer runtime.KeepAlive(m)
	var bytes unsafe.Pointer
	var size C.size_t
	err := check(C.ondine_model_export_training_bytes(m.handle(), &bytes, &size))
	if err != nil {
		return nil, err
	}
	return takeBytes(bytes, size), nil
}

// SaveWeights writes a .safetensors file. all: every state variable, not only weights.
func (m *Model) SaveWeights(file string, all bool) error {
	return m.file(file, nil, func(name *C.char, _ *C.ondine_option) *C.ondine_error {
		return C.ondine_model_save_weights(m.handle(), name, flag(all))
	})
}

// LoadWeights gives the weight report.
func (m *Model) LoadWeights(file string, all bool) (Report, error) {
	var text *C.char
	err := m.file(file, nil, func(name *C.char, _ *C.ondine_option) *C.ondine_error {
		return C.ondine_model_load_weights(m.handle(), name, flag(all), &text)
	})
	return takeReport(text), err
}
