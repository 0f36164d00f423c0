package ondine

/*
#include <stdint.h>
#include "shims.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// calls are functions of Go that the library knows by a number, which is never given twice. What
// they fail with stays here until the call of the library returns: panics do not cross it.
type calls struct {
	number   uintptr
	text     func(line string)
	piece    func(piece string) error
	step     func(report Report) error
	epoch    func(report Report) error
	progress func(fraction float64) error
	wait     func() error
	row      func(row uint64, entries []Entry) error
	columns  []Column
	widths   []int
	external func(location string, offset uint64, bytes []byte) error
	metric   Metric

	mu      sync.Mutex
	failure any
}

// panicked is what a function panicked with.
type panicked struct{ value any }

var registry = struct {
	sync.Mutex
	last uintptr
	all  map[uintptr]*calls
}{all: map[uintptr]*calls{}}

func register(one *calls) *calls {
	registry.Lock()
	defer registry.Unlock()
	registry.last++
	one.number = registry.last
	registry.all[one.number] = one
	return one
}

func (c *calls) user() C.uintptr_t {
	if c == nil {
		return 0
	}
	return C.uintptr_t(c.number)
}

func (c *calls) forget() {
	if c == nil {
		return
	}
	registry.Lock()
	defer registry.Unlock()
	delete(registry.all, c.number)
}

func find(user C.uintptr_t) *calls {
	registry.Lock()
	defer registry.Unlock()
	return registry.all[uintptr(user)]
}

func (c *calls) take() any {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	failure := c.failure
	c.failure = nil
	return failure
}

// Failures of functions that may run in another thread than the call, by the number that they
// returned: the reason of the error names it.
type failureTable struct {
	sync.Mutex
	last int
	all  map[int]any
}

const mostFailures = 64 // that no call asked for

var failures = failureTable{all: map[int]any{}}

func (f *failureTable) add(failure any) C.int {
	f.Lock()
	defer f.Unlock()
	f.last = f.last%1_000_000_000 + 1
	f.all[f.last] = failure
	delete(f.all, f.last-mostFailures)
	return C.int(f.last)
}

func (f *failureTable) take(number int) any {
	f.Lock()
	defer f.Unlock()
	failure := f.all[number]
	delete(f.all, number)
	return failure
}

// failureOf runs a function: what it returns, or panics with.
func failureOf(work func() error) (failure any) {
	defer func() {
		if value := recover(); value != nil {
			failure = panicked{value}
		}
	}()
	if err := work(); err != nil {
		return err
	}
	return nil
}

// stops runs a function of a call that runs on this goroutine: 0 to go on.
func stops(user C.uintptr_t, work func(one *calls) error) C.int {
	one := find(user)
	if one == nil {
		return 1
	}
	failure := failureOf(func() error { return work(one) })
	if failure == nil {
		return 0
	}
	if failure != ErrStop {
		one.mu.Lock()
		one.failure = failure
		one.mu.Unlock()
	}
	return 1
}

func fails(user C.uintptr_t, work func(one *calls) error) C.int {
	failure := failureOf(func() error {
		one := find(user)
		if one == nil {
			return mismatch("the callback is gone")
		}
		return work(one)
	})
	if failure == nil {
		return 0
	}
	return failures.add(failure)
}

func reportOf(text *C.char) Report {
	var made Report
	made.parse(C.GoString(text))
	return made
}

//export ondineGoText
func ondineGoText(user C.uintptr_t, line *C.char) {
	stops(user, func(one *calls) error {
		if one.text != nil {
			one.text(C.GoString(line))
		}
		return nil
	})
}

//export ondineGoPiece
func ondineGoPiece(user C.uintptr_t, piece *C.char, length C.size_t) C.int {
	return stops(user, func(one *calls) error { return one.piece(C.GoStringN(piece, C.int(length))) })
}

//export ondineGoStep
func ondineGoStep(user C.uintptr_t, report *C.char) C.int {
	return stops(user, func(one *calls) error {
		if one.failure != nil {
			return ErrStop
		}
		if one.step == nil {
			return nil
		}
		return one.step(reportOf(report))
	})
}

//export ondineGoEpoch
func ondineGoEpoch(user C.uintptr_t, report *C.char) C.int {
	return stops(user, func(one *calls) error {
		if one.epoch == nil {
			return nil
		}
		return one.epoch(reportOf(report))
	})
}

//export ondineGoProgress
func ondineGoProgress(user C.uintptr_t, fraction C.double) C.int {
	return stops(user, func(one *calls) error { return one.progress(float64(fraction)) })
}

//export ondineGoWait
func ondineGoWait(user C.uintptr_t) C.int {
	return stops(user, func(one *calls) error { return one.wait() })
}

//export ondineGoRow
func ondineGoRow(user C.uintptr_t, row C.uint64_t, entries *unsafe.Pointer) C.int {
	return fails(user, func(one *calls) error {
		made := make([]Entry, len(one.columns))
		pointers := unsafe.Slice(entries, len(made))
		for i := range made {
			made[i] = Entry{one.columns[i], pointers[i], one.widths[i]}
		}
		defer func() {
			for i := range made {
				made[i].memory = nil
			}
		}()
		return one.row(uint64(row), made)
	})
}

//export ondineGoExternal
func ondineGoExternal(user C.uintptr_t, location *C.char, offset, length C.uint64_t,
	bytes unsafe.Pointer) C.int {
	return stops(user, func(one *calls) error {
		target := make([]byte, int(length))
		if err := one.external(C.GoString(location), uint64(offset), target); err != nil {
			return err
		}
		if length > 0 {
			copy(unsafe.Slice((*byte)(bytes), int(length)), target)
		}
		return nil
	})
}

//export ondineGoBegin
func ondineGoBegin(user C.uintptr_t) {
	stops(user, func(one *calls) error {
		one.metric.Begin()
		return nil
	})
}

//export ondineGoAdd
func ondineGoAdd(user C.uintptr_t, outputs, batch *C.ondine_values) C.int {
	return fails(user, func(one *calls) error {
		return one.metric.Add(&Values{p: outputs, lent: true}, &Values{p: batch, lent: true})
	})
}

//export ondineGoValue
func ondineGoValue(user C.uintptr_t, result *C.double) C.int {
	return fails(user, func(one *calls) error {
		value, err := one.metric.Value()
		*result = C.double(value)
		return err
	})
}

//export ondineGoForget
func ondineGoForget(user C.uintptr_t) {
	if one := find(user); one != nil {
		one.forget()
	}
}

// Entry is the entry of a column in a row, which a row function fills. It is zeros before, and gone
// when the function returns.
type Entry struct {
	column Column
	memory unsafe.Pointer
	bytes  int
}

// Bytes is the memory of the entry, to be written.
func (e *Entry) Bytes() []byte {
	if e.memory == nil || e.bytes == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(e.memory), e.bytes)
}

// Put copies all elements of an entry.
func Put[T Element](entry *Entry, elements ...T) error {
	if dtypeOf[T]() != entry.column.DType {
		return mismatch(fmt.Sprintf("column '%s' has elements of type %d, not %d", entry.column.Name,
			entry.column.DType, dtypeOf[T]()))
	}
	size := len(elements) * int(unsafe.Sizeof(*new(T)))
	if size != entry.bytes {
		return mismatch(fmt.Sprintf("the entry of column '%s' has %d elements, not %d",
			entry.column.Name, entry.bytes/int(unsafe.Sizeof(*new(T))), len(elements)))
	}
	if size > 0 {
		copy(entry.Bytes(), unsafe.Slice((*byte)(unsafe.Pointer(&elements[0])), size))
	}
	return nil
}
