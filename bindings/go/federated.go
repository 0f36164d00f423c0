package ondine

// #include "shims.h"
import "C"

import (
	"runtime"
	"sync"
)

// FederatedWorker does what a node of a federation does with a message, for callers that have a
// connection.
type FederatedWorker struct {
	p    *C.ondine_federated_worker
	mu   sync.Mutex // of the callback
	wait *calls
}

// NewFederatedWorker holds copies of the model and the data. options: group train; federation: group
// federate, without the options of the connection.
func NewFederatedWorker(model *Model, dataset *Dataset, options, federation Options) (
	*FederatedWorker, error) {
	defer runtime.KeepAlive(model)
	defer runtime.KeepAlive(dataset)
	var m memory
	defer m.free()
	list, others := m.options(options), m.options(federation)
	if m.err != nil {
		return nil, m.err
	}
	w := &FederatedWorker{}
	err := check(C.ondine_federated_worker_new(model.handle(), dataset.handle(), list, others, &w.p))
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(w, (*FederatedWorker).Close)
	return w, nil
}

// Close frees the worker.
func (w *FederatedWorker) Close() {
	runtime.SetFinalizer(w, nil)
	C.ondine_federated_worker_free(w.p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wait.forget()
}

// OnWait is asked after every step; an error ends what waits. nil for none.
func (w *FederatedWorker) OnWait(ask func() error) error {
	defer runtime.KeepAlive(w)
	var made *calls
	if ask != nil {
		made = register(&calls{wait: ask})
	}
	err := check(C.ondine_go_on_wait(w.p, made.user()))
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		made.forget()
		return err
	}
	w.wait.forget()
	w.wait = made
	return nil
}

// Answer answers a message. kind: "train", "evaluate" or "query"; arrays: the weights that a
// training step updates, nil for a query; settings: a JSON object or ""; seconds: that the answer may
// take, below 0 for any time. It gives the arrays of a training, else nil, and the federated answer.
func (w *FederatedWorker) Answer(kind string, arrays *Values, settings string, seconds float64) (
	*Values, Report, error) {
	defer runtime.KeepAlive(w)
	defer runtime.KeepAlive(arrays)
	var m memory
	defer m.free()
	name, given := m.text(kind), m.optional(settings)
	if m.err != nil {
		return nil, Report{}, m.err
	}
	w.mu.Lock()
	wait := w.wait
	w.mu.Unlock()
	var p *C.ondine_values
	var text *C.char
	err := check(C.ondine_federated_worker_answer(w.p, name, arrays.handle(), given,
		C.double(seconds), &p, &text), wait)
	report := takeReport(text)
	trained, err := ownValues(p, err)
	return trained, report, err
}
