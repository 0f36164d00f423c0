// Steps, runs, callbacks, files.
package ondine_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ondine"
)

func TestTheLossOfStepsFallsAndResultsOutliveTheModel(t *testing.T) {
	net, given := model(), feeds(30)
	first := must(must(net.TrainStep(given)).Scalar("loss"))
	for i := 0; i < 60; i++ {
		must(net.TrainStep(given)).Close()
	}
	last := must(net.EvalStep(given))
	image, _ := rows(30)
	outputs := must(net.Infer(must(ondine.Feed(map[string]*ondine.Value{
		"x": must(ondine.New(image, 30, 4))}))))
	if steps := must(net.Steps()); steps != 61 {
		t.Error(steps)
	}
	net.Close()
	if loss := must(last.Scalar("loss")); loss >= first/2 {
		t.Errorf("the loss is %v after %v", loss, first)
	}
	scores := must(outputs.Get(must(outputs.Names())[0]))
	if dims := must(scores.Dims()); !reflect.DeepEqual(dims, []int{30, 3}) {
		t.Error(dims)
	}
	if numbers := must(ondine.Elements[float32](scores)); len(numbers) != 90 {
		t.Error(len(numbers))
	}
}

func TestManyGoroutinesInferBesideTraining(t *testing.T) {
	net, given := model(), feeds(30)
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 20; j++ {
				if loss := must(must(net.EvalStep(given)).Scalar("loss")); math.IsNaN(loss) {
					t.Error(loss)
				}
			}
		}()
	}
	for i := 0; i < 20; i++ {
		must(net.TrainStep(given))
	}
	group.Wait()
}

func TestFinetuningSaysWhatItAssumedAndWritesAModelThatClassifies(t *testing.T) {
	data, file := dataset(60), filepath.Join(t.TempDir(), "tuned.onnx")
	lines, steps, epochs := 0, 0, 0
	tuning := ondine.Finetune{
		Bytes: network(), Dataset: data, Output: file,
		Options:   ondine.Options{"epochs": 20, "refit": "never"},
		OnAssumed: func(line string) { lines += len(strings.Split(line, "\n")) },
		OnStep: func(report ondine.Report) error {
			number(t, report, "mean", "loss")
			steps++
			return nil
		},
		OnEpoch: func(report ondine.Report) error {
			epochs++
			if number(t, report, "epoch") != float64(epochs) {
				t.Error(report)
			}
			return nil
		},
	}
	tuned, report, err := tuning.Run()
	ok(t, err)
	tuned.Close()
	if number(t, report, "evaluation", "metrics", "accuracy") != 1 || report.Get("output").Text() != file {
		t.Error(report)
	}
	if lines < 2 || steps != 60 || epochs != 20 {
		t.Error(lines, steps, epochs)
	}
	exported := must(ondine.Load(file, nil))
	if number(t, must(ondine.Evaluate(exported, data, nil)), "metrics", "accuracy") != 1 {
		t.Error("the exported model does not classify")
	}
	again, report, err := (&ondine.Finetune{Model: exported, Dataset: data,
		Options: ondine.Options{"epochs": 1}}).Run()
	ok(t, err)
	again.Close()
	var fit struct {
		Output string
		Fit    struct{ Epochs int }
	}
	ok(t, report.Decode(&fit))
	if fit.Output != "" || fit.Fit.Epochs != 1 {
		t.Error(fit)
	}
}

func TestACallbackEndsARunThatThenWritesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "never.onnx")
	_, report, err := (&ondine.Finetune{Dataset: dataset(60), Output: file,
		OnStep: func(ondine.Report) error { return ondine.ErrStop }}).Run()
	ok(t, err)
	if report.Get("fit", "reason").Text() != "requested" || exists(file) {
		t.Error(report)
	}
}

type share struct{ right, rows float64 }

func (s *share) Begin() { *s = share{} }
func (s *share) Add(outputs, batch *ondine.Values) error {
	scores := must(ondine.Elements[float32](must(outputs.Get("scores"))))
	for row, label := range must(ondine.Elements[int64](must(batch.Get("label")))) {
		best := 0
		for i := range scores[3*row : 3*row+3] {
			if scores[3*row+i] > scores[3*row+best] {
				best = i
			}
		}
		if int64(best) == label {
			s.right++
		}
		s.rows++
	}
	return nil
}
func (s *share) Value() (float64, error) { return s.right / s.rows, nil }

func TestTheTrainingLoopReportsStepsAndEpochsAndComputesAMetricOfTheCaller(t *testing.T) {
	net := model()
	trainer := must(ondine.NewTrainer(net, ondine.Options{"epochs": 8, "batch-size": 10,
		"validation-split": 0.5}))
	defer trainer.Close()
	steps, epochs := 0, 0
	ok(t, trainer.OnStep(func(ondine.Report) error { steps++; return nil }))
	ok(t, trainer.OnEpoch(func(report ondine.Report) error {
		epochs++
		validation := report.Get("validation")
		if math.Abs(number(t, validation, "share")-number(t, validation, "accuracy")) > 1e-6 {
			t.Error(report)
		}
		return nil
	}))
	ok(t, trainer.AddMetric("share", &share{}))
	report := must(trainer.Fit(dataset(60), nil))
	if report.Get("reason").Text() != "completed" || steps != 24 || epochs != 8 {
		t.Error(report, steps, epochs)
	}
	number(t, must(trainer.Evaluate(dataset(30))), "metrics", "loss")
}

func TestRowsOfAFunctionTrainAsTheSameRowsInTensors(t *testing.T) {
	var read atomic.Int64
	image, label := rows(60)
	columns := []ondine.Column{{"x", ondine.Float32, []int{4}}, {"label", ondine.Int64, nil}}
	given := must(ondine.FromRows(columns, 60, func(row uint64, entries []ondine.Entry) error {
		read.Add(1)
		if err := ondine.Put(&entries[0], image[4*row:4*row+4]...); err != nil {
			return err
		}
		return ondine.Put(&entries[1], label[row])
	}, nil))
	train := func(data *ondine.Dataset) float64 {
		trainer := must(ondine.NewTrainer(model(), ondine.Options{"epochs": 2}))
		return number(t, must(trainer.Fit(data, nil)), "last", "training", "loss")
	}
	if a, b := train(given), train(dataset(60)); a != b || read.Load() < 120 {
		t.Error(a, b, read.Load())
	}
}

func TestBatchesAreFeedsAndComeInTheOrderOfSeedAndEpoch(t *testing.T) {
	net, data := model(), dataset(60)
	labels := func(order ondine.BatchOrder) (all []int64) {
		batches := must(data.Batches(20, order))
		defer batches.Close()
		if count := must(batches.Count()); count != 3 {
			t.Error(count)
		}
		for {
			batch := must(batches.Next())
			if batch == nil {
				return all
			}
			must(net.TrainStep(batch))
			all = append(all, must(ondine.Elements[int64](must(batch.Get("label"))))...)
		}
	}
	first := labels(ondine.BatchOrder{Seed: 4, Model: net})
	if again := labels(ondine.BatchOrder{Seed: 4}); !reflect.DeepEqual(first, again) {
		t.Error(first, again)
	}
	if other := labels(ondine.BatchOrder{Seed: 4, Epoch: 1}); reflect.DeepEqual(first, other) {
		t.Error(other)
	}
}

func TestACheckpointWeightsAndBytesBringTheStateBack(t *testing.T) {
	net, given := model(), feeds(30)
	checkpoint := filepath.Join(t.TempDir(), "run.ckpt")
	weights := filepath.Join(t.TempDir(), "net.safetensors")
	must(net.TrainStep(given))
	state := must(net.Parameters())
	ok(t, net.SaveCheckpoint(checkpoint))
	ok(t, net.SaveWeights(weights, false))
	clone := must(net.Clone())
	same := func(one *ondine.Model) {
		t.Helper()
		if !reflect.DeepEqual(must(one.Parameters()), state) {
			t.Error("other weights")
		}
	}
	must(net.TrainStep(given))
	if !must(ondine.HasCheckpoint(checkpoint)) {
		t.Error("no checkpoint")
	}
	must(net.RestoreCheckpoint(checkpoint))
	same(net)
	same(clone)
	ok(t, net.SetParameters(make([]float32, len(state))))
	must(net.LoadWeights(weights, false))
	same(net)
	again := must(ondine.LoadBytes(must(net.TrainingBytes()), nil))
	same(again)
	if must(again.Fingerprint()) != must(net.Fingerprint()) {
		t.Error("another model")
	}
	if len(must(net.InferenceBytes())) == 0 {
		t.Error("no bytes")
	}
}

func TestValuesOfAllKindsComeBackAsTheyWereGiven(t *testing.T) {
	vector := must(ondine.New([]float64{1, 2, 3, 4}, 2, 2))
	texts := must(ondine.Strings([]string{"a\x00b", "ä"}))
	if all := must(texts.Texts()); !reflect.DeepEqual(all, []string{"a\x00b", "ä"}) {
		t.Error(all)
	}
	bits := []byte{0, 0x3f, 1, 0x40, 2, 0xc0}
	halves := must(ondine.FromBytes(ondine.BFloat16, bits, 3))
	if all := must(halves.Bytes()); !reflect.DeepEqual(all, bits) {
		t.Error(all)
	}
	flags := must(ondine.New([]bool{true, false, true}))
	if all := must(ondine.Elements[bool](flags)); !reflect.DeepEqual(all, []bool{true, false, true}) {
		t.Error(all)
	}
	sequence := must(ondine.NewSequence(vector, texts))
	vector.Close()
	parts := must(sequence.Parts())
	if all := must(ondine.Elements[float64](parts[0])); !reflect.DeepEqual(all, []float64{1, 2, 3, 4}) {
		t.Error(all)
	}
	keys := must(ondine.New([]int64{7, 9}))
	byKey := must(ondine.NewMap(keys, flags, halves))
	if all := must(ondine.Elements[int64](must(byKey.Keys()))); !reflect.DeepEqual(all, []int64{7, 9}) {
		t.Error(all)
	}
	if must(must(ondine.NewOptional(nil)).Kind()) != ondine.Optional {
		t.Error("no optional")
	}
	sparse := must(ondine.NewSparse(must(ondine.New([]float32{2.5})), must(ondine.New([]int64{3})), 2, 2))
	if must(sparse.Kind()) != ondine.SparseTensor {
		t.Error("not sparse")
	}
	values := must(ondine.NewValues())
	ok(t, values.Set("one", must(ondine.Scalar(float32(2.5)))))
	if one := must(values.Scalar("one")); one != 2.5 {
		t.Error(one)
	}
	if all := must(ondine.Elements[int32](must(ondine.Zeros(ondine.Int32, 0, 3)))); len(all) != 0 {
		t.Error(all)
	}
}

func TestModelsSayWhatTheyAreAndWhatCallsTake(t *testing.T) {
	net := model()
	if name := must(net.Describe()).Get("inputs").List()[0].Get("name").Text(); name != "x" {
		t.Error(name)
	}
	if trained := net.PrepareReport.Get("trained").List(); len(trained) != 4 {
		t.Error(trained)
	}
	if !strings.Contains(must(net.Inspect("model", 0)), "Gemm") {
		t.Error("no Gemm")
	}
	if number(t, must(net.Plan(feeds(8), 0)), "arena_bytes") <= 0 {
		t.Error("no memory")
	}
	ok(t, net.SetLearningRate(0, 0.5))
	if rate := must(net.LearningRate(0)); rate != 0.5 {
		t.Error(rate)
	}
	ok(t, net.SetThreads(1))
	ok(t, net.SetProfiling(true))
	if len(must(must(net.Gradients(0, feeds(8))).Names())) == 0 || len(must(net.Profile()).List()) == 0 {
		t.Error("no gradients or no profile")
	}
	if !strings.Contains(must(ondine.OptionTable()).Get("prepare").String(), "learning-rate") {
		t.Error("no table")
	}
}

func TestAWorkerOfAFederationAnswersWithTrainedArrays(t *testing.T) {
	net := model()
	worker := must(ondine.NewFederatedWorker(net, dataset(60), ondine.Options{"epochs": 1}, nil))
	defer worker.Close()
	arrays := must(ondine.NewValues())
	for _, one := range must(net.Describe()).Get("state").List() {
		if name := one.Get("name").Text(); one.Get("role").Text() == "weight" {
			ok(t, arrays.Set(name, must(net.State(name))))
		}
	}
	ok(t, worker.OnWait(func() error { return nil }))
	trained, answer, err := worker.Answer("train", arrays, "", -1)
	ok(t, err)
	if number(t, answer, "metrics", "num-examples") != 60 {
		t.Error(answer)
	}
	if a, b := must(trained.Names()), must(arrays.Names()); !reflect.DeepEqual(a, b) {
		t.Error(a, b)
	}
	_, _, err = worker.Answer("dance", nil, "", -1)
	refused(t, err, ondine.ErrUnsupported, "dance")
}

func TestWhatNothingRefersToIsFreed(t *testing.T) {
	before := ondine.LiveHandles()
	for i := 0; i < 50; i++ {
		must(ondine.New([]float32{1, 2, 3}))
	}
	for end := time.Now().Add(10 * time.Second); ondine.LiveHandles() > before; {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
		if time.Now().After(end) {
			t.Fatal(ondine.LiveHandles(), "objects after", before)
		}
	}
}

func TestDataThatAModelKeepsOutsideComesFromAFunctionWhoseErrorIsTheCause(t *testing.T) {
	net, folder := model(), t.TempDir()
	file := filepath.Join(folder, "outside.onnx")
	ok(t, net.ExportTraining(file, ondine.Options{"external-data-from": 64}))
	bytes := must(os.ReadFile(file))
	loaded := must(ondine.LoadExternal(bytes,
		func(location string, offset uint64, to []byte) error {
			copy(to, must(os.ReadFile(filepath.Join(folder, location)))[offset:])
			return nil
		}, nil))
	if !reflect.DeepEqual(must(loaded.Parameters()), must(net.Parameters())) {
		t.Error("other weights")
	}
	_, err := ondine.LoadExternal(bytes,
		func(string, uint64, []byte) error { return errSensor }, nil)
	refused(t, err, ondine.ErrNotFound, "the sensor is off")
}
