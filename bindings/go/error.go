package ondine

// #include "shims.h"
import "C"

import (
	"errors"
	"strconv"
	"strings"
)

// Code says what went wrong. The numbers are those of <ondine/c.h> and never change. A Code is an
// error: errors.Is(err, ondine.ErrNotFound).
type Code int

const (
	ErrInvalidModel  Code = C.ONDINE_INVALID_MODEL
	ErrUnsupported   Code = C.ONDINE_UNSUPPORTED
	ErrMismatch      Code = C.ONDINE_MISMATCH
	ErrCorrupt       Code = C.ONDINE_CORRUPT
	ErrIO            Code = C.ONDINE_IO
	ErrLimit         Code = C.ONDINE_LIMIT
	ErrCancelled     Code = C.ONDINE_CANCELLED
	ErrInternal      Code = C.ONDINE_INTERNAL
	ErrNotFinite     Code = C.ONDINE_NOT_FINITE
	ErrNotFound      Code = C.ONDINE_NOT_FOUND
	ErrExists        Code = C.ONDINE_EXISTS
	ErrInvalidOption Code = C.ONDINE_INVALID_OPTION
)

// Error gives the name of the code, for example "not_found".
func (c Code) Error() string { return C.GoString(C.ondine_code_name(C.int(c))) }

// Error is an error of the library.
type Error struct {
	Code    Code
	Reason  string   // the reason alone
	Context []string // the enclosing objects, innermost first
	Message string   // the reason, then a line for each enclosing object
	Cause   error    // what a callback returned
}

func (e *Error) Error() string { return e.Message }

// Is tells whether target is the code of the error.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

func (e *Error) Unwrap() error { return e.Cause }

// ErrStop is what a callback returns to end a run without an error.
var ErrStop = errors.New("stop")

func newError(code Code, reason string) *Error {
	return &Error{Code: code, Reason: reason, Message: reason}
}

func mismatch(reason string) error { return newError(ErrMismatch, reason) }

// check is the result of a call. What a callback failed with becomes the cause of its error; a panic
// of one goes on here. `own` are callbacks that ran on this goroutine.
func check(failed *C.ondine_error, own ...*calls) error {
	var err *Error
	if failed != nil {
		err = taken(failed)
	}
	for _, one := range own {
		if failure := one.take(); failure != nil {
			if err == nil {
				err = newError(ErrCancelled, "a callback failed")
			}
			err.add(failure)
		}
	}
	if err == nil {
		return nil
	}
	if _, number, found := strings.Cut(err.Reason, "callback returned "); found {
		if key, bad := strconv.Atoi(number); bad == nil {
			if failure := failures.take(key); failure != nil {
				err.add(failure)
			}
		}
	}
	return err
}

func taken(failed *C.ondine_error) *Error {
	defer C.ondine_error_free(failed)
	err := &Error{
		Code:    Code(C.ondine_error_code(failed)),
		Reason:  C.GoString(C.ondine_error_reason(failed)),
		Message: C.GoString(C.ondine_error_message(failed)),
	}
	for {
		line := C.ondine_error_context(failed, C.size_t(len(err.Context)))
		if line == nil {
			return err
		}
		err.Context = append(err.Context, C.GoString(line))
	}
}

func (e *Error) add(failure any) {
	switch cause := failure.(type) {
	case panicked:
		panic(cause.value)
	case error:
		e.Cause = cause
		e.Message += "\n" + cause.Error()
	}
}
