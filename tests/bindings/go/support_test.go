// What the tests share: rows of three classes, and models for them.
package ondine_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"ondine"
)

// must gives what a call gives, or ends the test.
func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func number(t *testing.T, report ondine.Report, members ...string) float64 {
	t.Helper()
	made, is := report.Get(members...).Number()
	if !is {
		t.Fatalf("no number at %v of %v", members, report)
	}
	return made
}

// refused needs an error of this code whose message has this text.
func refused(t *testing.T, err error, code ondine.Code, message string) {
	t.Helper()
	var own *ondine.Error
	switch {
	case err == nil:
		t.Errorf("no error, but %q is needed", message)
	case !errors.As(err, &own):
		t.Errorf("%v is no error of the library", err)
	case !errors.Is(err, code) || !strings.Contains(err.Error(), message):
		t.Errorf("%v (%v) is no %v with %q", err, own.Code, code, message)
	}
}

// rows of four numbers: 1 at the place of the class, and small numbers elsewhere.
func rows(count int) ([]float32, []int64) {
	image, label := make([]float32, 4*count), make([]int64, count)
	for row := range label {
		label[row] = int64(row % 3)
		image[4*row+row%3] = 1
		image[4*row+3] = float32(row%7) * 0.01
	}
	return image, label
}

func feeds(count int) *ondine.Values {
	image, label := rows(count)
	return must(ondine.Feed(map[string]*ondine.Value{
		"x":     must(ondine.New(image, count, 4)),
		"label": must(ondine.New(label)),
	}))
}

func dataset(count int) *ondine.Dataset {
	return must(ondine.FromValues(feeds(count), nil, nil))
}

// network gives the bytes of an inference model with the input x [N, 4].
func network() []byte {
	bytes, _, err := ondine.NewNetwork("mlp", dataset(60), ondine.Options{"seed": 3})
	return must(bytes, err)
}

func classes() ondine.Options {
	return ondine.Options{"loss": "softmax-cross-entropy", "optimizer": "adam", "learning-rate": 0.01}
}

func model() *ondine.Model { return must(ondine.PrepareBytes(network(), classes(), nil)) }

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
