// Texts that a model writes, and adapters.
package ondine_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"ondine"
)

// made is a model of tests/bindings/program/models.cpp. That of bytes.onnx finds the byte that follows
// the last one most likely.
func made(name string) string { return filepath.Join(os.Getenv("ONDINE_MODELS"), name) }

func generator(options, text ondine.Options) (*ondine.Generator, error) {
	net := must(ondine.Load(made("bytes.onnx"), nil))
	defer net.Close()
	return ondine.NewGenerator(net, options, text)
}

func greedy(most int) ondine.Options {
	return ondine.Options{"temperature": 0, "max-tokens": most}
}

func textOf(report ondine.Report, err error) string {
	return must(report, err).Get("text").Text()
}

func TestAGeneratorOutlivesItsModelAndGoroutinesShareIt(t *testing.T) {
	writer := must(generator(greedy(5), nil))
	var group sync.WaitGroup
	for _, pair := range [][2]string{{"a", "bcdef"}, {"k", "lmnop"}, {"a", "bcdef"}} {
		group.Add(1)
		go func(prompt, next string) {
			defer group.Done()
			if text := textOf(writer.Generate(prompt, nil)); text != next {
				t.Errorf("%q after %q", text, prompt)
			}
		}(pair[0], pair[1])
	}
	group.Wait()
	report := must(writer.GenerateAfter([]int64{97, 98, 99}, nil))
	if report.Get("text").Text() != "defgh" || number(t, report, "prompt_tokens") != 3 {
		t.Error(report)
	}
	writer.Close()
	_, err := writer.Generate("a", nil)
	refused(t, err, ondine.ErrMismatch, "generator")
}

func TestATextComesInPartsAndEndsWhereACallbackSays(t *testing.T) {
	writer, heard := must(generator(greedy(5), nil)), ""
	report := must(writer.Generate("a", func(piece string) error {
		heard += piece
		if len(heard) < 3 {
			return nil
		}
		return ondine.ErrStop
	}))
	if heard != "bcd" || report.Get("end").Text() != "callback" {
		t.Error(heard, report)
	}
	enough := errors.New("enough")
	if _, err := writer.Generate("a", func(string) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	func() {
		defer func() {
			if value := recover(); value != "panic" {
				t.Error(value)
			}
		}()
		writer.Generate("a", func(string) error { panic("panic") })
	}()
	if text := textOf(writer.Generate("a", nil)); text != "bcdef" {
		t.Error(text)
	}
}

func TestTextsBecomeTokensAndTokensTexts(t *testing.T) {
	writer := must(generator(greedy(1), nil))
	if tokens := must(writer.Encode("abc")); !reflect.DeepEqual(tokens, []int64{97, 98, 99}) {
		t.Error(tokens)
	}
	if text := must(writer.Decode([]int64{97, 98, 99})); text != "abc" {
		t.Error(text)
	}
	if text := must(writer.Decode(must(writer.Encode("naïve")))); text != "naïve" {
		t.Error(text)
	}
	if tokens := must(writer.Encode("")); len(tokens) != 0 {
		t.Error(tokens)
	}
}

func TestAConversationGoesThroughTheChatTemplate(t *testing.T) {
	messages := []ondine.Message{{"system", "x"}, {"user", "a"}}
	chat := must(generator(greedy(2), ondine.Options{"chat-template": "chatml"}))
	report := must(chat.Answer(messages, nil))
	if number(t, report.Get("tokens").List()[0]) != 11 { // after the end of a line
		t.Error(report)
	}
	plain := must(generator(greedy(2), nil))
	_, err := plain.Answer(messages, nil)
	refused(t, err, ondine.ErrMismatch, "no chat template")
	_, err = chat.Answer([]ondine.Message{{"us\x00er", "a"}}, nil)
	refused(t, err, ondine.ErrMismatch, "NUL")
}

func TestOptionsThatGenerateDoesNotTakeAreRefused(t *testing.T) {
	_, err := generator(ondine.Options{"temperature": 0, "top-k": 3}, nil)
	refused(t, err, ondine.ErrInvalidOption, "top-k")
	_, err = generator(greedy(5), ondine.Options{"columns": "a"})
	refused(t, err, ondine.ErrInvalidOption, "columns")
	_, err = ondine.ImportHuggingFace(filepath.Join(t.TempDir(), "none"), "none.onnx", nil)
	refused(t, err, ondine.ErrNotFound, "none")
}

func logits(net *ondine.Model, feeds *ondine.Values) []float32 {
	return must(ondine.Elements[float32](must(must(net.Infer(feeds, "logits")).Get("logits"))))
}

func near(a, b []float32) bool {
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-5 {
			return false
		}
	}
	return true
}

// writeAdapters writes the adapters of net.onnx after some steps, and gives the logits that they make.
func writeAdapters(t *testing.T, folder string, given *ondine.Values) []float32 {
	net := must(ondine.Prepare(made("net.onnx"), ondine.Options{"loss": "softmax-cross-entropy",
		"lora": 1, "lora-targets": "w", "learning-rate": 0.5}, nil))
	if all := must(net.Adapters()).List(); len(all) != 1 {
		t.Error(all)
	}
	image, label := rows(12)
	batch := must(ondine.Feed(map[string]*ondine.Value{"image": must(ondine.New(image, 12, 4)),
		"label": must(ondine.New(label))}))
	for i := 0; i < 5; i++ {
		must(net.TrainStep(batch)).Close()
	}
	ok(t, net.SaveAdapters(folder))
	tuned := logits(net, given)
	ok(t, net.Initialize(1))
	if near(logits(net, given), tuned) {
		t.Error("the adapters are still there")
	}
	ok(t, net.LoadAdapters(folder))
	if !reflect.DeepEqual(logits(net, given), tuned) {
		t.Error("the adapters are others")
	}
	refused(t, net.LoadAdapters(folder+"-none"), ondine.ErrNotFound, "none")
	return tuned
}

func TestAdaptersAreWrittenReadAndPutBesideTheWeightsOfAModel(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "adapters")
	image, _ := rows(2)
	feed := map[string]*ondine.Value{"image": must(ondine.New(image, 2, 4))}
	given := must(ondine.Feed(feed))
	tuned := writeAdapters(t, folder, given)
	base := must(ondine.Load(made("net.onnx"), nil))
	if all := must(base.Adapters()).List(); len(all) != 0 {
		t.Error(all)
	}
	refused(t, base.SaveAdapters(folder+"-none"), ondine.ErrMismatch, "adapters")
	both := must(base.WithAdapters([]ondine.AdapterFolder{{Folder: folder, Weight: 1, Name: "tuned"},
		{Folder: folder, Name: "other"}}, nil))
	untuned := logits(base, given)
	base.Close() // what both share stays
	if !near(logits(both, given), tuned) || near(untuned, tuned) {
		t.Error(logits(both, given), tuned, untuned)
	}
	feed["adapter.tuned"] = must(ondine.Scalar(float32(0)))
	if off := logits(both, must(ondine.Feed(feed))); !reflect.DeepEqual(off, untuned) {
		t.Error(off, untuned)
	}
}
