// Package ondine trains ONNX models on the device, over libondine.so. The page docs/rust-go-java.md
// of the project explains it, docs/c.md the reports.
//
// Objects are freed by Close, or some time after nothing refers to them. What was closed is refused
// with ErrMismatch. Objects may be used from any goroutine: calls that may not run beside each other
// are errors.
package ondine

/*
#cgo pkg-config: ondine
#include <stdlib.h>
#include "shims.h"
*/
import "C"

import (
	"strings"
	"unsafe"
)

// Version gives "MAJOR.MINOR.PATCH" of the library.
func Version() string { return C.GoString(C.ondine_version()) }

// LiveHandles counts objects that were made and not freed, errors included.
func LiveHandles() int { return int(C.ondine_live_handles()) }

// OptionTable gives all options of all groups, with kinds, defaults and ranges.
func OptionTable() (Report, error) {
	var text *C.char
	if err := check(C.ondine_options_json(&text)); err != nil {
		return Report{}, err
	}
	return takeReport(text), nil
}

// memory is what a call is given in the memory of C.
type memory struct {
	all []unsafe.Pointer
	err error
}

func (m *memory) free() {
	for _, one := range m.all {
		C.free(one)
	}
}

func (m *memory) alloc(size int) unsafe.Pointer {
	if size == 0 {
		size = 1
	}
	made := C.calloc(1, C.size_t(size))
	m.all = append(m.all, made)
	return made
}

func (m *memory) text(text string) *C.char {
	if strings.ContainsRune(text, 0) {
		m.fail(ErrMismatch, "a text has a NUL character: "+strings.ReplaceAll(text, "\x00", "\\0"))
	}
	made := C.CString(text)
	m.all = append(m.all, unsafe.Pointer(made))
	return made
}

// optional is NULL for "".
func (m *memory) optional(text string) *C.char {
	if text == "" {
		return nil
	}
	return m.text(text)
}

func (m *memory) fail(code Code, reason string) {
	if m.err == nil {
		m.err = newError(code, reason)
	}
}

// names is a list that ends with NULL; NULL for no names.
func (m *memory) names(names []string) **C.char {
	if len(names) == 0 {
		return nil
	}
	var one *C.char
	list := (**C.char)(m.alloc((len(names) + 1) * int(unsafe.Sizeof(one))))
	for i, name := range names {
		unsafe.Slice(list, len(names))[i] = m.text(name)
	}
	return list
}

func (m *memory) dims(dims []int) *C.int64_t {
	list := (*C.int64_t)(m.alloc(len(dims) * 8))
	for i, one := range dims {
		unsafe.Slice(list, len(dims))[i] = C.int64_t(one)
	}
	return list
}

func takeText(text *C.char) string {
	defer C.ondine_free(unsafe.Pointer(text))
	return C.GoString(text)
}

func takeBytes(bytes unsafe.Pointer, size C.size_t) []byte {
	defer C.ondine_free(bytes)
	made := make([]byte, int(size))
	if size > 0 {
		copy(made, unsafe.Slice((*byte)(bytes), int(size)))
	}
	return made
}

func flag(is bool) C.int {
	if is {
		return 1
	}
	return 0
}
