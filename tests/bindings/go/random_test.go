// Calls in an order that a seed decides, with what fits and what does not. Seconds: the variable
// ONDINE_RANDOM_SECONDS, else 2.
package ondine_test

import (
	"errors"
	"math/rand"
	"os"
	"strconv"
	"testing"
	"time"

	"ondine"
)

func randomValue(dice *rand.Rand, values []*ondine.Value) (*ondine.Value, error) {
	dims, count := []int{}, 1
	for i := dice.Intn(4); i > 0; i-- {
		dims = append(dims, dice.Intn(5))
		count *= dims[len(dims)-1]
	}
	if dice.Intn(8) == 0 {
		count++
	}
	one := func() *ondine.Value {
		if len(values) == 0 {
			return nil
		}
		return values[dice.Intn(len(values))]
	}
	switch dice.Intn(9) {
	case 0:
		return ondine.New(make([]float32, count), dims...)
	case 1:
		return ondine.New(make([]int64, count), dims...)
	case 2:
		return ondine.Strings(make([]string, count), dims...)
	case 3:
		return ondine.FromBytes(ondine.DType(dice.Intn(30)-1), make([]byte, count), dims...)
	case 4:
		return ondine.Zeros(ondine.DType(dice.Intn(30)-1), dims...)
	case 5:
		return ondine.NewSequence(one(), one())
	case 6:
		return ondine.NewOptional(one())
	case 7:
		return ondine.NewMap(one(), one())
	}
	return ondine.NewSparse(one(), one(), dims...)
}

func look(value *ondine.Value) {
	_, _ = value.Kind()
	_, _ = value.Dims()
	_, _ = ondine.Elements[float32](value)
	_, _ = value.Bytes()
	_, _ = value.Texts()
	_, _ = value.Keys()
	_, _ = value.Parts()
}

func randomRun(dice *rand.Rand, net *ondine.Model, given *ondine.Values) error {
	data, err := ondine.FromValues(given, nil, nil)
	if err != nil {
		return err
	}
	trainer, err := ondine.NewTrainer(net, ondine.Options{"epochs": dice.Intn(3)})
	if err != nil {
		return err
	}
	return fail(trainer.Fit(data, nil))
}

// damaged loads the bytes of a model with a wrong bit.
func damaged(dice *rand.Rand, net *ondine.Model) (*ondine.Model, error) {
	bytes, err := net.TrainingBytes()
	if err != nil {
		return nil, err
	}
	bytes[dice.Intn(len(bytes))] ^= 1 << dice.Intn(8)
	return ondine.LoadBytes(bytes, nil)
}

func randomCall(dice *rand.Rand, models *[]*ondine.Model, values []*ondine.Value) error {
	given := feeds(1 + dice.Intn(20))
	if len(values) > 0 && dice.Intn(3) == 0 {
		name := []string{"x", "label", "w"}[dice.Intn(3)]
		if err := given.Set(name, values[dice.Intn(len(values))]); err != nil {
			return err
		}
	}
	if len(*models) == 0 {
		*models = append(*models, model())
	}
	index := dice.Intn(len(*models))
	net := (*models)[index]
	switch dice.Intn(14) {
	case 0:
		return net.Initialize(uint64(dice.Intn(9)))
	case 1:
		return fail(net.Infer(given))
	case 2:
		return fail(net.EvalStep(given))
	case 3:
		return net.SetState(given)
	case 4:
		return fail(net.TrainStepOf(dice.Intn(3)-1, given, []string{"loss", "none"}[:dice.Intn(3)]...))
	case 5:
		clone, err := net.Clone()
		if err == nil {
			*models = append(*models, clone)
		}
		return err
	case 6:
		net.Close()
	case 7:
		return randomRun(dice, net, given)
	case 8:
		loaded, err := damaged(dice, net)
		if err == nil {
			*models = append(*models, loaded)
		}
		return err
	case 9:
		return fail(net.Gradients(0, given))
	case 10:
		*models = append((*models)[:index], (*models)[index+1:]...)
	case 11:
		given.Close()
		return fail(net.TrainStep(given))
	default:
		return fail(net.TrainStep(given))
	}
	return nil
}

func TestRandomCallsGiveResultsOrErrors(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("ONDINE_RANDOM_SECONDS"))
	if err != nil {
		seconds = 2
	}
	dice := rand.New(rand.NewSource(1))
	var models []*ondine.Model
	var values []*ondine.Value
	calls, bad := 0, 0
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); calls++ {
		if value, err := randomValue(dice, values); err == nil {
			look(value)
			values = append(values, value)
		}
		if err := randomCall(dice, &models, values); err != nil {
			if errors.Is(err, ondine.ErrInternal) {
				t.Fatal(err)
			}
			bad++
		}
		if len(values) > 20 {
			at := dice.Intn(20)
			values[at].Close()
			if dice.Intn(2) == 0 {
				values = append(values[:at], values[at+1:]...)
			} else {
				values = values[1:]
			}
		}
		if len(models) > 5 {
			models = models[1:]
		}
	}
	t.Logf("%d calls, %d errors", calls, bad)
	if bad == 0 || bad >= calls {
		t.Error(calls, bad)
	}
}
