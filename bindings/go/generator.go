package ondine

// #include "shims.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Message is one of a conversation. Role: system, user or assistant.
type Message struct{ Role, Content string }

// Generator writes texts by a language model, which it keeps. Any number of goroutines may use it at
// once.
type Generator struct{ p *C.ondine_generator }

// NewGenerator makes a generator. options: group generate; text: the options tokenizer and
// chat-template of group data; what they do not say is as the model was trained.
func NewGenerator(model *Model, options, text Options) (*Generator, error) {
	defer runtime.KeepAlive(model)
	var m memory
	defer m.free()
	list, others := m.options(options), m.options(text)
	if m.err != nil {
		return nil, m.err
	}
	g := &Generator{}
	if err := check(C.ondine_generator_new(model.handle(), list, others, &g.p)); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(g, (*Generator).Close)
	return g, nil
}

// Close frees the generator.
func (g *Generator) Close() {
	runtime.SetFinalizer(g, nil)
	C.ondine_generator_free(g.p)
}

// write gives the generate report of a call. tell may be nil.
func (g *Generator) write(tell func(piece string) error,
	work func(user C.uintptr_t, to **C.char) *C.ondine_error) (Report, error) {
	defer runtime.KeepAlive(g)
	var own *calls
	if tell != nil {
		own = register(&calls{piece: tell})
		defer own.forget()
	}
	var text *C.char
	failed := work(own.user(), &text)
	report := takeReport(text) // before a panic of a callback goes on
	return report, check(failed, own)
}

// Generate gives the text after a prompt, in the generate report. tell, which may be nil, gets each
// part of the text; ErrStop ends it, and another error comes out of Generate.
func (g *Generator) Generate(prompt string, tell func(piece string) error) (Report, error) {
	var m memory
	defer m.free()
	bytes := m.alloc(len(prompt))
	copy(unsafe.Slice((*byte)(bytes), len(prompt)), prompt)
	return g.write(tell, func(user C.uintptr_t, to **C.char) *C.ondine_error {
		return C.ondine_go_generate(g.p, (*C.char)(bytes), C.size_t(len(prompt)), user, to)
	})
}

// GenerateAfter does the same after token ids.
func (g *Generator) GenerateAfter(tokens []int64, tell func(piece string) error) (Report, error) {
	var m memory
	defer m.free()
	ids := m.ids(tokens)
	return g.write(tell, func(user C.uintptr_t, to **C.char) *C.ondine_error {
		return C.ondine_go_generate_after(g.p, ids, C.size_t(len(tokens)), user, to)
	})
}

// Answer gives the assistant's next message, by the chat template.
func (g *Generator) Answer(messages []Message, tell func(piece string) error) (Report, error) {
	var m memory
	defer m.free()
	made := (*C.ondine_message)(m.alloc(len(messages) * int(unsafe.Sizeof(C.ondine_message{}))))
	list := unsafe.Slice(made, len(messages))
	for i, one := range messages {
		list[i].role, list[i].content = m.text(one.Role), m.text(one.Content)
	}
	if m.err != nil {
		return Report{}, m.err
	}
	return g.write(tell, func(user C.uintptr_t, to **C.char) *C.ondine_error {
		return C.ondine_go_answer(g.p, made, C.size_t(len(messages)), user, to)
	})
}

// Encode gives the ids of a text's tokens.
func (g *Generator) Encode(text string) ([]int64, error) {
	defer runtime.KeepAlive(g)
	var m memory
	defer m.free()
	bytes := m.alloc(len(text))
	copy(unsafe.Slice((*byte)(bytes), len(text)), text)
	var p *C.ondine_value
	err := check(C.ondine_generator_encode(g.p, (*C.char)(bytes), C.size_t(len(text)), &p))
	tokens, err := newValue(p, err)
	if err != nil {
		return nil, err
	}
	defer tokens.Close()
	return Elements[int64](tokens)
}

// Decode gives the text of tokens.
func (g *Generator) Decode(tokens []int64) (string, error) {
	defer runtime.KeepAlive(g)
	var m memory
	defer m.free()
	var text *C.char
	var length C.size_t
	ids := m.ids(tokens)
	err := check(C.ondine_generator_decode(g.p, ids, C.size_t(len(tokens)), &text, &length))
	if err != nil {
		return "", err
	}
	return string(takeBytes(unsafe.Pointer(text), length)), nil
}

func (m *memory) ids(tokens []int64) *C.int64_t {
	list := (*C.int64_t)(m.alloc(len(tokens) * 8))
	for i, one := range tokens {
		unsafe.Slice(list, len(tokens))[i] = C.int64_t(one)
	}
	return list
}

// ImportHuggingFace writes the model of a folder of Hugging Face as an .onnx file, which is replaced in
// one step, and gives the import report. options: group import.
func ImportHuggingFace(folder, output string, options Options) (Report, error) {
	var m memory
	defer m.free()
	from, to, list := m.text(folder), m.text(output), m.options(options)
	if m.err != nil {
		return Report{}, m.err
	}
	var text *C.char
	if err := check(C.ondine_import_hugging_face(from, to, list, &text)); err != nil {
		return Report{}, err
	}
	return takeReport(text), nil
}
