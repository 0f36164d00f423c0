package ondine

// #include "shims.h"
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// DType is an element type, by its number in onnx.TensorProto.DataType.
type DType int

const (
	Float32        DType = C.ONDINE_FLOAT32
	Uint8          DType = C.ONDINE_UINT8
	Int8           DType = C.ONDINE_INT8
	Uint16         DType = C.ONDINE_UINT16
	Int16          DType = C.ONDINE_INT16
	Int32          DType = C.ONDINE_INT32
	Int64          DType = C.ONDINE_INT64
	String         DType = C.ONDINE_STRING
	Bool           DType = C.ONDINE_BOOL
	Float16        DType = C.ONDINE_FLOAT16
	Float64        DType = C.ONDINE_FLOAT64
	Uint32         DType = C.ONDINE_UINT32
	Uint64         DType = C.ONDINE_UINT64
	Complex64      DType = C.ONDINE_COMPLEX64
	Complex128     DType = C.ONDINE_COMPLEX128
	BFloat16       DType = C.ONDINE_BFLOAT16
	Float8E4M3FN   DType = C.ONDINE_FLOAT8E4M3FN
	Float8E4M3FNUZ DType = C.ONDINE_FLOAT8E4M3FNUZ
	Float8E5M2     DType = C.ONDINE_FLOAT8E5M2
	Float8E5M2FNUZ DType = C.ONDINE_FLOAT8E5M2FNUZ
	Uint4          DType = C.ONDINE_UINT4
	Int4           DType = C.ONDINE_INT4
	Float4E2M1     DType = C.ONDINE_FLOAT4E2M1
	Float8E8M0     DType = C.ONDINE_FLOAT8E8M0
	Uint2          DType = C.ONDINE_UINT2
	Int2           DType = C.ONDINE_INT2
)

// Element is a type of Go that is an element type of tensors.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | bool |
		complex64 | complex128
}

func dtypeOf[T Element]() DType {
	var one T
	switch any(one).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case complex64:
		return Complex64
	case complex128:
		return Complex128
	}
	return Bool
}

// bytes of an element.
func (d DType) bytes() (int, error) {
	one, err := Zeros(d, 1)
	if err != nil {
		return 0, err
	}
	defer one.Close()
	about, err := one.info()
	return about.bytes, err
}

// Kind is the kind of a value.
type Kind int

const (
	NoKind       Kind = C.ONDINE_NONE
	Tensor       Kind = C.ONDINE_TENSOR
	SparseTensor Kind = C.ONDINE_SPARSE_TENSOR
	Sequence     Kind = C.ONDINE_SEQUENCE
	Map          Kind = C.ONDINE_MAP
	Optional     Kind = C.ONDINE_OPTIONAL
)

// Value is a tensor, sequence, map, optional or sparse tensor. Its elements do not change.
type Value struct {
	p  *C.ondine_value
	mu sync.RWMutex // held while memory of the library is read, and to free it
}

func newValue(p *C.ondine_value, err error) (*Value, error) {
	if err != nil {
		return nil, err
	}
	v := &Value{p: p}
	runtime.SetFinalizer(v, (*Value).Close)
	return v, nil
}

// Close frees the value. Other values keep what they share with it.
func (v *Value) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	runtime.SetFinalizer(v, nil)
	C.ondine_value_free(v.p)
}

func checkCount(dims []int, count int) error {
	product := 1
	for _, one := range dims {
		if one < 0 {
			return mismatch(fmt.Sprintf("dims of a tensor are from 0 on, not %v", dims))
		}
		if one > 0 && product > (1<<62)/one {
			return mismatch(fmt.Sprintf("a tensor of dims %v is too large", dims))
		}
		product *= one
	}
	if product != count {
		return mismatch(fmt.Sprintf("a tensor of dims %v has %d elements; the slice has %d", dims,
			product, count))
	}
	return nil
}

// New makes a tensor with a copy of the elements, in row-major order. Without dims it has one axis.
func New[T Element](elements []T, dims ...int) (*Value, error) {
	if len(dims) == 0 {
		dims = []int{len(elements)}
	}
	if err := checkCount(dims, len(elements)); err != nil {
		return nil, err
	}
	return newTensor(dtypeOf[T](), dims, unsafe.Pointer(unsafe.SliceData(elements)))
}

// Scalar makes a tensor of rank 0.
func Scalar[T Element](element T) (*Value, error) {
	return newTensor(dtypeOf[T](), nil, unsafe.Pointer(&element))
}

// Zeros makes a tensor of zeros.
func Zeros(dtype DType, dims ...int) (*Value, error) { return newTensor(dtype, dims, nil) }

func newTensor(dtype DType, dims []int, data unsafe.Pointer) (*Value, error) {
	var m memory
	defer m.free()
	var p *C.ondine_value
	err := check(C.ondine_tensor_new(C.int(dtype), C.size_t(len(dims)), m.dims(dims), data, &p))
	return newValue(p, err)
}

// FromBytes makes a tensor of a type that Go has no elements of, such as BFloat16, from their bytes
// in the order of this machine. Elements below a byte take one each.
func FromBytes(dtype DType, bytes []byte, dims ...int) (*Value, error) {
	width, err := dtype.bytes()
	if err != nil {
		return nil, err
	}
	if len(bytes)%width != 0 {
		return nil, mismatch(fmt.Sprintf("%d bytes are no elements of %d", len(bytes), width))
	}
	if err := checkCount(dims, len(bytes)/width); err != nil {
		return nil, err
	}
	aligned := make([]uint64, len(bytes)/8+1)
	data := unsafe.Pointer(unsafe.SliceData(aligned))
	copy(unsafe.Slice((*byte)(data), len(bytes)), bytes)
	return newTensor(dtype, dims, data)
}

// Strings makes a tensor of texts. Without dims it has one axis.
func Strings(texts []string, dims ...int) (*Value, error) {
	if len(dims) == 0 {
		dims = []int{len(texts)}
	}
	if err := checkCount(dims, len(texts)); err != nil {
		return nil, err
	}
	var m memory
	defer m.free()
	var one *C.char
	list := (**C.char)(m.alloc(len(texts) * int(unsafe.Sizeof(one))))
	lengths := (*C.size_t)(m.alloc(len(texts) * int(unsafe.Sizeof(C.size_t(0)))))
	for i, text := range texts {
		bytes := m.alloc(len(text))
		copy(unsafe.Slice((*byte)(bytes), len(text)), text)
		unsafe.Slice(list, len(texts))[i] = (*C.char)(bytes)
		unsafe.Slice(lengths, len(texts))[i] = C.size_t(len(text))
	}
	var p *C.ondine_value
	err := check(C.ondine_tensor_strings(C.size_t(len(dims)), m.dims(dims), list, lengths, &p))
	return newValue(p, err)
}

func (m *memory) values(elements []*Value) **C.ondine_value {
	var one *C.ondine_value
	list := (**C.ondine_value)(m.alloc(len(elements) * int(unsafe.Sizeof(one))))
	for i, element := range elements {
		unsafe.Slice(list, len(elements))[i] = element.handle()
	}
	return list
}

// handle is NULL, which the library refuses, for a nil value.
func (v *Value) handle() *C.ondine_value {
	if v == nil {
		return nil
	}
	return v.p
}

// NewSequence makes a sequence of values.
func NewSequence(elements ...*Value) (*Value, error) {
	defer runtime.KeepAlive(elements)
	var m memory
	defer m.free()
	var p *C.ondine_value
	err := check(C.ondine_value_sequence(m.values(elements), C.size_t(len(elements)), &p))
	return newValue(p, err)
}

// NewMap makes a map. keys: a tensor of rank 1 of integers or strings, one for each element.
func NewMap(keys *Value, elements ...*Value) (*Value, error) {
	defer runtime.KeepAlive(keys)
	defer runtime.KeepAlive(elements)
	var m memory
	defer m.free()
	var p *C.ondine_value
	err := check(C.ondine_value_map(keys.handle(), m.values(elements), C.size_t(len(elements)), &p))
	return newValue(p, err)
}

// NewOptional makes an optional, which is empty for nil.
func NewOptional(element *Value) (*Value, error) {
	defer runtime.KeepAlive(element)
	var p *C.ondine_value
	err := check(C.ondine_value_optional(element.handle(), &p))
	return newValue(p, err)
}

// NewSparse makes a sparse tensor: elements [nnz], indices [nnz] linear or [nnz, rank]; the dims are
// those of the whole.
func NewSparse(elements, indices *Value, dims ...int) (*Value, error) {
	defer runtime.KeepAlive(elements)
	defer runtime.KeepAlive(indices)
	var m memory
	defer m.free()
	var p *C.ondine_value
	err := check(C.ondine_value_sparse(elements.handle(), indices.handle(), C.size_t(len(dims)),
		m.dims(dims), &p))
	return newValue(p, err)
}
