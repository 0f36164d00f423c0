package ondine

// #include "shims.h"
import "C"

import (
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// Model is an ONNX model with its state. Infer, EvalStep, Gradients and what only reads may run at
// once in any number of goroutines, also beside a training step; a second step, or a setter beside a
// call, is an error.
type Model struct {
	// PrepareReport tells what Prepare chose; it is empty for a model that was loaded.
	PrepareReport Report

	p                           *C.ondine_model
	mu                          sync.Mutex // of the callbacks
	progress, warning, external *calls
}

func newModel(p *C.ondine_model, report *C.char, err error) (*Model, error) {
	if err != nil {
		return nil, err
	}
	m := &Model{p: p, PrepareReport: takeReport(report)}
	runtime.SetFinalizer(m, (*Model).Close)
	return m, nil
}

// Close frees the model.
func (m *Model) Close() {
	runtime.SetFinalizer(m, nil)
	C.ondine_model_free(m.p)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range []*calls{m.progress, m.warning, m.external} {
		one.forget()
	}
}

func (m *Model) handle() *C.ondine_model {
	if m == nil {
		return nil
	}
	return m.p
}

func (m *Model) check(failed *C.ondine_error) error {
	if m == nil {
		return check(failed)
	}
	m.mu.Lock()
	own := []*calls{m.progress, m.warning, m.external}
	m.mu.Unlock()
	return check(failed, own...)
}

// Load reads a model as it is. options: group load.
func Load(file string, options Options) (*Model, error) {
	var m memory
	defer m.free()
	name, list := m.text(file), m.options(options)
	if m.err != nil {
		return nil, m.err
	}
	var p *C.ondine_model
	err := check(C.ondine_model_load(name, list, &p))
	return newModel(p, nil, err)
}

// LoadBytes does the same with the bytes of a file.
func LoadBytes(bytes []byte, options Options) (*Model, error) {
	return LoadExternal(bytes, nil, options)
}

// LoadExternal does the same with a model that keeps tensors outside: read fills the bytes of a
// location from an offset on.
func LoadExternal(bytes []byte, read func(location string, offset uint64, bytes []byte) error,
	options Options) (*Model, error) {
	var m memory
	defer m.free()
	list := m.options(options)
	if m.err != nil {
		return nil, m.err
	}
	var external *calls
	if read != nil {
		external = register(&calls{external: read})
	}
	var p *C.ondine_model
	err := check(C.ondine_go_load_bytes(unsafe.Pointer(unsafe.SliceData(bytes)),
		C.size_t(len(bytes)), external.user(), list, &p), external)
	model, err := newModel(p, nil, err)
	if err != nil {
		external.forget()
		return nil, err
	}
	model.external = external
	return model, nil
}

// Prepare adds training information to an inference model and initializes it. options: group
// prepare; load: group load.
func Prepare(file string, options, load Options) (*Model, error) {
	var m memory
	defer m.free()
	name, list, loading := m.text(file), m.options(options), m.options(load)
	if m.err != nil {
		return nil, m.err
	}
	var p *C.ondine_model
	var report *C.char
	err := check(C.ondine_prepare(name, list, loading, &p, &report))
	return newModel(p, report, err)
}

// PrepareBytes does the same with the bytes of a file.
func PrepareBytes(bytes []byte, options, load Options) (*Model, error) {
	var m memory
	defer m.free()
	list, loading := m.options(options), m.options(load)
	if m.err != nil {
		return nil, m.err
	}
	var p *C.ondine_model
	var report *C.char
	err := check(C.ondine_prepare_bytes(unsafe.Pointer(unsafe.SliceData(bytes)),
		C.size_t(len(bytes)), list, loading, &p, &report))
	return newModel(p, report, err)
}

// Prepare does the same with a model that is loaded, with its present weights.
func (m *Model) Prepare(options, load Options) (*Model, error) {
	defer runtime.KeepAlive(m)
	var mem memory
	defer mem.free()
	list, loading := mem.options(options), mem.options(load)
	if mem.err != nil {
		return nil, mem.err
	}
	var p *C.ondine_model
	var report *C.char
	err := check(C.ondine_prepare_model(m.handle(), list, loading, &p, &report))
	return newModel(p, report, err)
}

// Clone makes a model of its own with the present state.
func (m *Model) Clone() (*Model, error) {
	defer runtime.KeepAlive(m)
	var p *C.ondine_model
	err := check(C.ondine_model_clone(m.handle(), &p))
	return newModel(p, nil, err)
}

// Initialize gives every variable its initial value.
func (m *Model) Initialize(seed uint64) error {
	defer runtime.KeepAlive(m)
	return m.check(C.ondine_model_initialize(m.handle(), C.uint64_t(seed)))
}

// TrainStep is one step of the first training algorithm. fetches: outputs that are wanted; none:
// those of the algorithm.
func (m *Model) TrainStep(feeds *Values, fetches ...string) (*Values, error) {
	return m.TrainStepOf(0, feeds, fetches...)
}

// TrainStepOf is one step of a training algorithm.
func (m *Model) TrainStepOf(algorithm int, feeds *Values, fetches ...string) (*Values, error) {
	return m.call(feeds, fetches, func(names **C.char, p **C.ondine_values) *C.ondine_error {
		return C.ondine_model_train_step(m.handle(), feeds.handle(), C.size_t(algorithm), names, p)
	})
}

// EvalStep gives loss and metrics of a batch in evaluation mode, without updates.
func (m *Model) EvalStep(feeds *Values, fetches ...string) (*Values, error) {
	return m.EvalStepOf(0, feeds, fetches...)
}

// EvalStepOf does the same with a training algorithm.
func (m *Model) EvalStepOf(algorithm int, feeds *Values, fetches ...string) (*Values, error) {
	return m.call(feeds, fetches, func(names **C.char, p **C.ondine_values) *C.ondine_error {
		return C.ondine_model_eval_step(m.handle(), feeds.handle(), C.size_t(algorithm), names, p)
	})
}

// Infer gives outputs: those that are named, or all.
func (m *Model) Infer(feeds *Values, fetches ...string) (*Values, error) {
	return m.call(feeds, fetches, func(names **C.char, p **C.ondine_values) *C.ondine_error {
		return C.ondine_model_infer(m.handle(), feeds.handle(), names, p)
	})
}

// Gradients gives the derivatives of the loss by state variables, by their names, without updates.
func (m *Model) Gradients(algorithm int, feeds *Values) (*Values, error) {
	return m.call(feeds, nil, func(_ **C.char, p **C.ondine_values) *C.ondine_error {
		return C.ondine_model_gradients(m.handle(), feeds.handle(), C.size_t(algorithm), p)
	})
}

func (m *Model) call(feeds *Values, fetches []string,
	work func(names **C.char, p **C.ondine_values) *C.ondine_error) (*Values, error) {
	defer runtime.KeepAlive(m)
	defer runtime.KeepAlive(feeds)
	var mem memory
	defer mem.free()
	names := mem.names(fetches)
	if mem.err != nil {
		return nil, mem.err
	}
	var p *C.ondine_values
	err := m.check(work(names, &p))
	return ownValues(p, err)
}

// LearningRate gives that of a training algorithm.
func (m *Model) LearningRate(algorithm int) (float32, error) {
	defer runtime.KeepAlive(m)
	var rate C.float
	err := check(C.ondine_model_get_learning_rate(m.handle(), C.size_t(algorithm), &rate))
	return float32(rate), err
}

// SetLearningRate sets that of a training algorithm.
func (m *Model) SetLearningRate(algorithm int, rate float32) error {
	defer runtime.KeepAlive(m)
	return check(C.ondine_model_set_learning_rate(m.handle(), C.size_t(algorithm), C.float(rate)))
}

// SetThreads sets the number of threads of calls.
func (m *Model) SetThreads(threads int) error {
	defer runtime.KeepAlive(m)
	return check(C.ondine_model_set_threads(m.handle(), C.int(threads)))
}

// SetDeadline lets every call that takes longer fail with ErrLimit; below 0 for none.
func (m *Model) SetDeadline(deadline time.Duration) error {
	defer runtime.KeepAlive(m)
	return check(C.ondine_model_set_deadline(m.handle(), C.int64_t(deadline.Milliseconds())))
}

// SetCancel lets the model watch a flag; nil for none.
func (m *Model) SetCancel(cancel *Cancel) error {
	defer runtime.KeepAlive(m)
	defer runtime.KeepAlive(cancel)
	var flag *C.ondine_cancel
	if cancel != nil {
		flag = cancel.p
	}
	return check(C.ondine_model_set_cancel(m.handle(), flag))
}

// OnProgress tells the fraction of a call that is done, at most about every 10 ms. An error ends the
// call with ErrCancelled and becomes its cause.
func (m *Model) OnProgress(tell func(fraction float64) error) error {
	defer runtime.KeepAlive(m)
	var made *calls
	if tell != nil {
		made = register(&calls{progress: tell})
	}
	return m.keep(&m.progress, made, C.ondine_go_progress(m.handle(), made.user()))
}

// OnWarning tells each warning: those that are known at once, others when a call finds them.
func (m *Model) OnWarning(say func(warning string)) error {
	defer runtime.KeepAlive(m)
	var made *calls
	if say != nil {
		made = register(&calls{text: say})
	}
	return m.keep(&m.warning, made, C.ondine_go_warnings(m.handle(), made.user()))
}

func (m *Model) keep(slot **calls, made *calls, failed *C.ondine_error) error {
	err := check(failed, made)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		made.forget()
		return err
	}
	(*slot).forget()
	*slot = made
	return nil
}

// SetProfiling switches the measurement of operators.
func (m *Model) SetProfiling(on bool) error {
	defer runtime.KeepAlive(m)
	return check(C.ondine_model_set_profiling(m.handle(), flag(on)))
}
