package ondine

// #include "shims.h"
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// Values has values by name, in order: what calls are fed with and what they return.
type Values struct {
	p    *C.ondine_values
	mu   sync.RWMutex // held while names are read, and to change them
	lent bool         // belongs to a callback, and its memory is used again
}

func ownValues(p *C.ondine_values, err error) (*Values, error) {
	if err != nil || p == nil {
		return nil, err
	}
	v := &Values{p: p}
	runtime.SetFinalizer(v, (*Values).Close)
	return v, nil
}

// NewValues makes an empty list.
func NewValues() (*Values, error) {
	var p *C.ondine_values
	err := check(C.ondine_values_new(&p))
	return ownValues(p, err)
}

// Feed makes a list of values by their names.
func Feed(tensors map[string]*Value) (*Values, error) {
	made, err := NewValues()
	if err != nil {
		return nil, err
	}
	for name, value := range tensors {
		if err := made.Set(name, value); err != nil {
			made.Close()
			return nil, err
		}
	}
	return made, nil
}

// Close frees the list.
func (v *Values) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lent {
		return
	}
	runtime.SetFinalizer(v, nil)
	C.ondine_values_free(v.p)
}

func (v *Values) handle() *C.ondine_values {
	if v == nil {
		return nil
	}
	return v.p
}

// Set adds the value or takes the place of the one of this name.
func (v *Values) Set(name string, value *Value) error {
	defer runtime.KeepAlive(v)
	defer runtime.KeepAlive(value)
	if v == nil {
		return mismatch("the values are nil")
	}
	if v.lent {
		return mismatch("values of a callback do not change")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var m memory
	defer m.free()
	text := m.text(name)
	if m.err != nil {
		return m.err
	}
	return check(C.ondine_values_set(v.p, text, value.handle()))
}

// SetNew does the same with a tensor that has a copy of the elements; without dims it has one axis.
func SetNew[T Element](v *Values, name string, elements []T, dims ...int) error {
	value, err := New(elements, dims...)
	if err != nil {
		own := err.(*Error)
		own.Context = append(own.Context, "'"+name+"'")
		own.Message += "\n'" + name + "'"
		return own
	}
	defer value.Close()
	return v.Set(name, value)
}

// Names gives the names.
func (v *Values) Names() ([]string, error) {
	if v == nil {
		return nil, mismatch("the values are nil")
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	var count C.size_t
	if err := check(C.ondine_values_count(v.p, &count)); err != nil {
		return nil, err
	}
	made := make([]string, int(count))
	for i := range made {
		var name *C.char
		if err := check(C.ondine_values_name(v.p, C.size_t(i), &name)); err != nil {
			return nil, err
		}
		made[i] = C.GoString(name)
	}
	return made, nil
}

// Get gives the value of a name. In a callback it is a copy, which may be kept.
func (v *Values) Get(name string) (*Value, error) {
	defer runtime.KeepAlive(v)
	var m memory
	defer m.free()
	text := m.text(name)
	if m.err != nil {
		return nil, m.err
	}
	var p *C.ondine_value
	err := check(C.ondine_values_get(v.handle(), text, &p))
	value, err := newValue(p, err)
	if err != nil || !v.lent {
		return value, err
	}
	return value.copied()
}

func (v *Value) copied() (*Value, error) {
	if kind, err := v.Kind(); err != nil || kind != Tensor {
		return v, err
	}
	defer v.Close()
	about, err := v.info()
	if err != nil {
		return nil, err
	}
	if about.dtype == String {
		texts, err := v.Texts()
		if err != nil {
			return nil, err
		}
		return Strings(texts, about.dims...)
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	var data unsafe.Pointer
	if err := check(C.ondine_tensor_data(v.p, &data)); err != nil {
		return nil, err
	}
	return newTensor(about.dtype, about.dims, data)
}

// Scalar gives the only element of a tensor of numbers or booleans.
func (v *Values) Scalar(name string) (float64, error) {
	defer runtime.KeepAlive(v)
	var m memory
	defer m.free()
	text := m.text(name)
	if m.err != nil {
		return 0, m.err
	}
	var number C.double
	err := check(C.ondine_values_scalar(v.handle(), text, &number))
	return float64(number), err
}
