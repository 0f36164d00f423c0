// Bad input is an error with the message of the library, and panics of callbacks go on.
package ondine_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"ondine"
)

func fail[T any](_ T, err error) error { return err }

func TestAWrongElementTypeNameSizeOrNumberNamesTheInput(t *testing.T) {
	net := model()
	image, label := rows(4)
	step := func(name string, x *ondine.Value) error {
		given := must(ondine.Feed(map[string]*ondine.Value{name: x, "label": must(ondine.New(label))}))
		return fail(net.TrainStep(given))
	}
	good := must(ondine.New(image, 4, 4))
	refused(t, step("x", must(ondine.New(make([]float64, 16), 4, 4))), ondine.ErrMismatch, "x")
	refused(t, step("x", must(ondine.New(image, 2, 8))), ondine.ErrMismatch, "x")
	refused(t, step("picture", good), ondine.ErrNotFound, "picture")
	refused(t, fail(ondine.New(image, 3, 5)), ondine.ErrMismatch, "15 elements; the slice has 16")
	refused(t, fail(ondine.New(image, -1, -16)), ondine.ErrMismatch, "from 0 on")
	refused(t, fail(ondine.New(image, 1<<40, 1<<40)), ondine.ErrMismatch, "too large")
	refused(t, fail(ondine.FromBytes(ondine.Bool, []byte{7}, 1)), ondine.ErrMismatch, "bool")
	refused(t, fail(ondine.FromBytes(ondine.Float32, []byte{7}, 1)), ondine.ErrMismatch, "elements of 4")
	refused(t, fail(ondine.Zeros(ondine.DType(77), 1)), ondine.ErrMismatch, "77")
	refused(t, fail(ondine.Zeros(ondine.Float64, 1<<40, 1<<20)), ondine.ErrLimit, "")
	refused(t, fail(ondine.Elements[int32](good)), ondine.ErrMismatch, "type 1, not 6")
	refused(t, fail(must(ondine.Strings([]string{"a"})).Bytes()), ondine.ErrMismatch, "string")
	refused(t, fail(must(ondine.NewOptional(nil)).Dims()), ondine.ErrMismatch, "")
	refused(t, fail(net.State("nobody")), ondine.ErrNotFound, "nobody")
	refused(t, fail(net.State("no\x00body")), ondine.ErrMismatch, "NUL")
	refused(t, fail(net.TrainStepOf(9, feeds(4))), ondine.ErrNotFound, "algorithm")
	refused(t, fail(net.TrainStep(feeds(4), "none")), ondine.ErrNotFound, "none")
	refused(t, fail(net.TrainStep(nil)), ondine.ErrMismatch, "")
	refused(t, net.SetParameters([]float32{1}), ondine.ErrMismatch, "")
	refused(t, ondine.SetNew(feeds(4), "x", image, 3), ondine.ErrMismatch, "'x'")
	if must(net.Steps()) != 0 {
		t.Error("one of them trained")
	}
}

func TestOptionsAreCheckedByTheTableOfTheLibrary(t *testing.T) {
	bytes := network()
	with := func(name string, value any) error {
		return fail(ondine.PrepareBytes(bytes, ondine.Options{"loss": "mse", name: value}, nil))
	}
	refused(t, with("learning-rat", 1), ondine.ErrInvalidOption, "learning-rat")
	refused(t, with("beta1", 0.9), ondine.ErrInvalidOption, "beta1")
	refused(t, with("learning-rate", "fast"), ondine.ErrInvalidOption, "learning-rate")
	refused(t, with("learning-rate", struct{}{}), ondine.ErrInvalidOption, "learning-rate")
	refused(t, with("learning-rate", nil), ondine.ErrInvalidOption, "learning-rate")
}

func TestFilesThatAreMissingOrDamagedAreRefused(t *testing.T) {
	refused(t, fail(ondine.Load("none.onnx", nil)), ondine.ErrNotFound, "none.onnx")
	refused(t, fail(ondine.LoadBytes([]byte{1, 2, 3}, nil)), ondine.ErrInvalidModel, "")
	refused(t, fail(ondine.LoadBytes(nil, nil)), ondine.ErrInvalidModel, "")
	refused(t, fail(ondine.Open(nil, "none.csv")), ondine.ErrNotFound, "none.csv")
	refused(t, fail(ondine.Open(nil)), ondine.ErrMismatch, "no place")
	_, _, err := (&ondine.Finetune{}).Run()
	refused(t, err, ondine.ErrMismatch, "there are no data")
	_, _, err = (&ondine.Finetune{Dataset: dataset(6), Places: []string{"x"}}).Run()
	refused(t, err, ondine.ErrMismatch, "exclude each other")
	_, _, err = ondine.NewNetwork("gan", dataset(6), nil)
	refused(t, err, ondine.ErrMismatch, "mlp, cnn")
	refused(t, fail(dataset(6).Batches(0, ondine.BatchOrder{})), ondine.ErrMismatch, "at least one row")
	refused(t, fail(ondine.FromRows(nil, 1, nil, nil)), ondine.ErrMismatch, "no function")
}

func TestWhatWasClosedIsRefused(t *testing.T) {
	net, data, given := model(), dataset(6), feeds(6)
	value := must(given.Get("x"))
	trainer := must(ondine.NewTrainer(net, nil))
	for i := 0; i < 2; i++ {
		trainer.Close()
		net.Close()
		data.Close()
		given.Close()
		value.Close()
	}
	refused(t, fail(net.TrainStep(feeds(6))), ondine.ErrMismatch, "model was freed")
	refused(t, fail(ondine.NewTrainer(net, nil)), ondine.ErrMismatch, "model was freed")
	refused(t, fail(data.Rows()), ondine.ErrMismatch, "data set was freed")
	refused(t, fail(given.Names()), ondine.ErrMismatch, "freed")
	refused(t, fail(value.Bytes()), ondine.ErrMismatch, "freed")
	refused(t, fail(ondine.Elements[float32](value)), ondine.ErrMismatch, "freed")
	refused(t, fail(trainer.Fit(dataset(6), nil)), ondine.ErrMismatch, "trainer was freed")
	refused(t, fail(ondine.Evaluate(nil, nil, nil)), ondine.ErrMismatch, "")
}

func TestASecondRunOfATrainerIsRefusedAndAnotherGoroutineStopsTheFirst(t *testing.T) {
	net := model()
	trainer := must(ondine.NewTrainer(net, ondine.Options{"epochs": 1_000_000}))
	started := make(chan struct{})
	var once sync.Once
	ok(t, trainer.OnStep(func(ondine.Report) error {
		once.Do(func() { close(started) })
		return nil
	}))
	done := make(chan ondine.Report)
	go func() { done <- must(trainer.Fit(dataset(60), nil)) }()
	<-started
	refused(t, fail(trainer.Fit(dataset(60), nil)), ondine.ErrMismatch, "trainer")
	ok(t, trainer.RequestStop())
	if reason := (<-done).Get("reason").Text(); reason != "requested" {
		t.Error(reason)
	}
}

func TestValuesAreReadAndClosedByManyGoroutines(t *testing.T) {
	for i := 0; i < 50; i++ {
		value := must(ondine.New(make([]float32, 10_000)))
		var group sync.WaitGroup
		for j := 0; j < 4; j++ {
			group.Add(1)
			go func(j int) {
				defer group.Done()
				if j == 3 {
					value.Close()
				} else if _, err := value.Bytes(); err != nil {
					refused(t, err, ondine.ErrMismatch, "freed")
				}
			}(j)
		}
		group.Wait()
	}
}

func TestAFlagAndADeadlineEndCalls(t *testing.T) {
	net, given := model(), feeds(30)
	cancel := must(ondine.NewCancel())
	ok(t, net.SetCancel(cancel))
	ok(t, cancel.Request())
	refused(t, fail(net.TrainStep(given)), ondine.ErrCancelled, "")
	ok(t, cancel.Reset())
	must(net.TrainStep(given))
	ok(t, net.SetDeadline(0))
	refused(t, fail(net.TrainStep(given)), ondine.ErrLimit, "")
	ok(t, net.SetDeadline(-time.Second))
	must(net.TrainStep(given))
}

func panics(t *testing.T, wanted string, work func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != wanted {
			t.Errorf("panic %v, not %v", got, wanted)
		}
	}()
	work()
}

func TestAPanicOfACallbackComesOutOfTheCall(t *testing.T) {
	data := dataset(60)
	panics(t, "in a step", func() {
		_, _, _ = (&ondine.Finetune{Dataset: data,
			OnStep: func(ondine.Report) error { panic("in a step") }}).Run()
	})
	panics(t, "aloud", func() {
		_, _, _ = (&ondine.Finetune{Dataset: data, OnAssumed: func(string) { panic("aloud") }}).Run()
	})
	trainer := must(ondine.NewTrainer(model(), nil))
	ok(t, trainer.OnEpoch(func(ondine.Report) error { panic("in an epoch") }))
	panics(t, "in an epoch", func() { _, _ = trainer.Fit(data, nil) })
	columns := []ondine.Column{{"x", ondine.Float32, []int{1}}}
	rows := must(ondine.FromRows(columns, 9, func(uint64, []ondine.Entry) error { panic("in a row") },
		nil))
	panics(t, "in a row", func() { _, _ = must(rows.Batches(3, ondine.BatchOrder{})).Next() })
}

var errSensor = errors.New("the sensor is off")

type broken struct{}

func (broken) Begin() {}
func (broken) Add(_, batch *ondine.Values) error {
	_, err := batch.Get("nothing")
	return err
}
func (broken) Value() (float64, error) { return 0, nil }

func TestAnErrorOfACallbackIsTheCauseOfTheErrorOfTheCall(t *testing.T) {
	columns := []ondine.Column{{"x", ondine.Float32, []int{4}}, {"label", ondine.Int64, nil}}
	first := func(read func(row uint64, entries []ondine.Entry) error) error {
		rows := must(ondine.FromRows(columns, 9, read, nil))
		return fail(must(rows.Batches(9, ondine.BatchOrder{})).Next())
	}
	err := first(func(row uint64, entries []ondine.Entry) error {
		if row == 5 {
			return errSensor
		}
		return ondine.Put(&entries[1], int64(0))
	})
	refused(t, err, ondine.ErrCancelled, "the sensor is off")
	if !errors.Is(err, errSensor) {
		t.Error(err)
	}
	refused(t, first(func(_ uint64, entries []ondine.Entry) error {
		return ondine.Put(&entries[0], int32(1), 2, 3, 4)
	}), ondine.ErrCancelled, "'x' has elements of type 1, not 6")
	refused(t, first(func(_ uint64, entries []ondine.Entry) error {
		return ondine.Put(&entries[0], float32(1))
	}), ondine.ErrCancelled, "4 elements, not 1")
	trainer := must(ondine.NewTrainer(model(), ondine.Options{"validation-split": 0.5}))
	ok(t, trainer.AddMetric("broken", broken{}))
	refused(t, fail(trainer.Fit(dataset(20), nil)), ondine.ErrCancelled, "'nothing'")
	trainer = must(ondine.NewTrainer(model(), nil))
	ok(t, trainer.OnStep(func(ondine.Report) error { return errSensor }))
	if _, err := trainer.Fit(dataset(20), nil); !errors.Is(err, errSensor) {
		t.Error(err)
	}
}

func TestProgressEndsACall(t *testing.T) {
	net := model()
	ok(t, net.OnWarning(func(string) {}))
	ok(t, net.OnProgress(func(float64) error { return errSensor }))
	long := must(ondine.Feed(map[string]*ondine.Value{
		"x": must(ondine.New(make([]float32, 240_000), 60_000, 4))}))
	for i := 0; i < 50; i++ {
		if _, err := net.Infer(long); err != nil {
			refused(t, err, ondine.ErrCancelled, "the sensor is off")
			return
		}
	}
	t.Error("nothing told the progress")
}
