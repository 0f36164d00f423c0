package ondine

// #include "shims.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

type info struct {
	dtype           DType
	dims            []int
	elements, bytes int
}

// Kind tells what the value is.
func (v *Value) Kind() (Kind, error) {
	defer runtime.KeepAlive(v)
	var kind C.int
	err := check(C.ondine_value_kind(v.handle(), &kind))
	return Kind(kind), err
}

func (v *Value) info() (info, error) {
	if v == nil {
		return info{}, mismatch("the value is nil")
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	var dtype C.int
	var rank, elements, bytes C.size_t
	var dims *C.int64_t
	err := check(C.ondine_tensor_info(v.p, &dtype, &rank, &dims, &elements, &bytes))
	if err != nil {
		return info{}, err
	}
	made := info{DType(dtype), make([]int, int(rank)), int(elements), int(bytes)}
	for i := range made.dims {
		made.dims[i] = int(unsafe.Slice(dims, int(rank))[i])
	}
	return made, nil
}

// DType gives the element type of a tensor.
func (v *Value) DType() (DType, error) {
	about, err := v.info()
	return about.dtype, err
}

// Dims gives the dims of a tensor.
func (v *Value) Dims() ([]int, error) {
	about, err := v.info()
	return about.dims, err
}

// read copies the bytes of the elements to memory that is aligned for them.
func (v *Value) read(to unsafe.Pointer, size int) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var data unsafe.Pointer
	if err := check(C.ondine_tensor_data(v.p, &data)); err != nil {
		return err
	}
	if size > 0 {
		copy(unsafe.Slice((*byte)(to), size), unsafe.Slice((*byte)(data), size))
	}
	return nil
}

// Bytes gives a copy of the bytes of a tensor's elements, whatever their type.
func (v *Value) Bytes() ([]byte, error) {
	about, err := v.info()
	if err != nil {
		return nil, err
	}
	made := make([]byte, about.bytes)
	return made, v.read(unsafe.Pointer(unsafe.SliceData(made)), len(made))
}

// Elements gives a copy of the elements of a tensor, in row-major order.
func Elements[T Element](v *Value) ([]T, error) {
	about, err := v.info()
	if err != nil {
		return nil, err
	}
	if about.dtype != dtypeOf[T]() {
		return nil, mismatch(fmt.Sprintf("the tensor has elements of type %d, not %d", about.dtype,
			dtypeOf[T]()))
	}
	made := make([]T, about.elements)
	return made, v.read(unsafe.Pointer(unsafe.SliceData(made)), about.bytes)
}

// Texts gives the texts of a tensor of strings.
func (v *Value) Texts() ([]string, error) {
	about, err := v.info()
	if err != nil {
		return nil, err
	}
	made := make([]string, about.elements)
	v.mu.RLock()
	defer v.mu.RUnlock()
	for i := range made {
		var text *C.char
		var length C.size_t
		if err := check(C.ondine_tensor_string(v.p, C.size_t(i), &text, &length)); err != nil {
			return nil, err
		}
		made[i] = string(unsafe.Slice((*byte)(unsafe.Pointer(text)), int(length)))
	}
	return made, nil
}

// Parts gives the elements of a sequence, map or optional; the values of a sparse tensor are part 0.
func (v *Value) Parts() ([]*Value, error) {
	defer runtime.KeepAlive(v)
	var count C.size_t
	if err := check(C.ondine_value_count(v.handle(), &count)); err != nil {
		return nil, err
	}
	made := make([]*Value, int(count))
	for i := range made {
		var p *C.ondine_value
		err := check(C.ondine_value_element(v.p, C.size_t(i), &p))
		if made[i], err = newValue(p, err); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// Keys gives the keys of a map, or the indices of a sparse tensor.
func (v *Value) Keys() (*Value, error) {
	defer runtime.KeepAlive(v)
	var p *C.ondine_value
	err := check(C.ondine_value_keys(v.handle(), &p))
	return newValue(p, err)
}
