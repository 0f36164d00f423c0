package ondine

// #include "shims.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// AdapterFolder has adapters in the layout of PEFT. Weight: how often they count, 1 for once. Name "":
// the last part of the path.
type AdapterFolder struct {
	Folder string
	Weight float64
	Name   string
}

// Adapters gives the adapters that the options lora, dora, ... of Prepare gave the model: a list, empty
// for others.
func (m *Model) Adapters() (Report, error) {
	return m.report(func(to **C.char) *C.ondine_error {
		return C.ondine_model_adapters(m.handle(), to)
	})
}

// SaveAdapters writes the adapters to a folder in the layout of PEFT.
func (m *Model) SaveAdapters(folder string) error {
	return m.withFolder(folder, func(name *C.char) *C.ondine_error {
		return C.ondine_model_save_adapters(m.handle(), name)
	})
}

// LoadAdapters assigns adapters of a folder in the layout of PEFT: all or, with an error, none.
func (m *Model) LoadAdapters(folder string) error {
	return m.withFolder(folder, func(name *C.char) *C.ondine_error {
		return C.ondine_model_load_adapters(m.handle(), name)
	})
}

func (m *Model) withFolder(folder string, work func(name *C.char) *C.ondine_error) error {
	defer runtime.KeepAlive(m)
	var mem memory
	defer mem.free()
	name := mem.text(folder)
	if mem.err != nil {
		return mem.err
	}
	return m.check(work(name))
}

// WithAdapters makes a model for inference with adapters of several folders beside the weights of this
// one, which both share. The input "adapter.NAME" weighs each from call to call. load: group load.
func (m *Model) WithAdapters(folders []AdapterFolder, load Options) (*Model, error) {
	defer runtime.KeepAlive(m)
	var mem memory
	defer mem.free()
	size := int(unsafe.Sizeof(C.ondine_adapter_folder{}))
	made := (*C.ondine_adapter_folder)(mem.alloc(len(folders) * size))
	for i, one := range folders {
		to := &unsafe.Slice(made, len(folders))[i]
		to.folder, to.weight, to.name = mem.text(one.Folder), C.double(one.Weight), mem.optional(one.Name)
	}
	loading := mem.options(load)
	if mem.err != nil {
		return nil, mem.err
	}
	var p *C.ondine_model
	count := C.size_t(len(folders))
	err := m.check(C.ondine_model_with_adapters(m.handle(), made, count, loading, &p))
	return newModel(p, nil, err)
}
