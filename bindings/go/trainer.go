package ondine

// #include "shims.h"
import "C"

import (
	"runtime"
	"sync"
)

// Metric is a metric of validation data that the caller computes. Early stopping and schedules know
// it as "val_NAME".
type Metric interface {
	Begin()                           // before each evaluation
	Add(outputs, batch *Values) error // the outputs and the feeds of every batch
	Value() (float64, error)
}

// Trainer is the training loop. It keeps the model, which nothing else may train meanwhile.
type Trainer struct {
	p     *C.ondine_trainer
	model *Model
	mu    sync.Mutex // of the callbacks
	calls []*calls
}

// NewTrainer makes a training loop. options: group train. The order of rows follows from the seed of
// the model.
func NewTrainer(model *Model, options Options) (*Trainer, error) {
	defer runtime.KeepAlive(model)
	var m memory
	defer m.free()
	list := m.options(options)
	if m.err != nil {
		return nil, m.err
	}
	t := &Trainer{model: model}
	if err := check(C.ondine_trainer_new(model.handle(), list, &t.p)); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(t, (*Trainer).Close)
	return t, nil
}

// Close frees the training loop.
func (t *Trainer) Close() {
	runtime.SetFinalizer(t, nil)
	C.ondine_trainer_free(t.p)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.calls {
		one.forget()
	}
}

func (t *Trainer) add(made *calls, work func(user C.uintptr_t) *C.ondine_error) error {
	defer runtime.KeepAlive(t)
	register(made)
	if err := check(work(made.user())); err != nil {
		made.forget()
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, made)
	return nil
}

// check gives what callbacks failed with to the caller of a run.
func (t *Trainer) check(failed *C.ondine_error) error {
	t.mu.Lock()
	own := append([]*calls(nil), t.calls...)
	t.mu.Unlock()
	err := check(failed, own...)
	runtime.KeepAlive(t)
	return err
}

// OnStep adds a callback that gets the report of each step. ErrStop ends the run; another error ends
// it and comes out of Fit.
func (t *Trainer) OnStep(tell func(report Report) error) error {
	return t.add(&calls{step: tell}, func(user C.uintptr_t) *C.ondine_error {
		return C.ondine_go_on_step(t.p, user)
	})
}

// OnEpoch does the same with each epoch.
func (t *Trainer) OnEpoch(tell func(report Report) error) error {
	return t.add(&calls{epoch: tell}, func(user C.uintptr_t) *C.ondine_error {
		return C.ondine_go_on_epoch(t.p, user)
	})
}

// AddMetric adds a metric. outputs: those that it reads; none: the first of the main graph.
func (t *Trainer) AddMetric(name string, metric Metric, outputs ...string) error {
	if metric == nil {
		return mismatch("the metric is nil")
	}
	var m memory
	defer m.free()
	text, names := m.text(name), m.names(outputs)
	if m.err != nil {
		return m.err
	}
	return t.add(&calls{metric: metric}, func(user C.uintptr_t) *C.ondine_error {
		return C.ondine_go_metric(t.p, text, names, user)
	})
}

// report is that of a call, which is freed before a panic of a callback goes on.
func (t *Trainer) report(failed *C.ondine_error, text **C.char) (Report, error) {
	made := takeReport(*text)
	return made, t.check(failed)
}

// Resume restores the checkpoint of the options and gives the restore report.
func (t *Trainer) Resume() (Report, error) {
	var text *C.char
	return t.report(C.ondine_trainer_resume(t.p, &text), &text)
}

// Fit trains until all epochs are done or something stops the run, and gives the fit report.
// validation may be nil: the validation part of training, or what the options set apart.
func (t *Trainer) Fit(training, validation *Dataset) (Report, error) {
	defer runtime.KeepAlive(training)
	defer runtime.KeepAlive(validation)
	var text *C.char
	return t.report(C.ondine_trainer_fit(t.p, training.handle(), validation.handle(), &text), &text)
}

// Evaluate gives loss and metrics of the training part of a data set, as of validation.
func (t *Trainer) Evaluate(dataset *Dataset) (Report, error) {
	defer runtime.KeepAlive(dataset)
	var text *C.char
	return t.report(C.ondine_trainer_evaluate(t.p, dataset.handle(), &text), &text)
}

// RequestStop ends a run before its next step. Other goroutines and callbacks may call it.
func (t *Trainer) RequestStop() error {
	defer runtime.KeepAlive(t)
	return check(C.ondine_trainer_request_stop(t.p))
}

// Evaluate compares an output of the model with the labels of the data. options: group evaluate.
func Evaluate(model *Model, dataset *Dataset, options Options) (Report, error) {
	defer runtime.KeepAlive(model)
	defer runtime.KeepAlive(dataset)
	var m memory
	defer m.free()
	list := m.options(options)
	if m.err != nil {
		return Report{}, m.err
	}
	var text *C.char
	err := model.check(C.ondine_evaluate(model.handle(), dataset.handle(), list, &text))
	return takeReport(text), err
}
