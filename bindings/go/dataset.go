package ondine

// #include "shims.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Use is what data is opened for.
type Use int

const (
	ForTraining   Use = C.ONDINE_FOR_TRAINING
	ForEvaluation Use = C.ONDINE_FOR_EVALUATION
	ForInference  Use = C.ONDINE_FOR_INFERENCE // targets are not read, so that they may be missing
)

// Column is a column of rows that the caller makes: element type and dims of its entry in a row.
type Column struct {
	Name  string
	DType DType
	Dims  []int
}

// Dataset has rows to train with or to evaluate.
type Dataset struct{ p *C.ondine_dataset }

func newDataset(p *C.ondine_dataset, err error) (*Dataset, error) {
	if err != nil {
		return nil, err
	}
	d := &Dataset{p}
	runtime.SetFinalizer(d, (*Dataset).Close)
	return d, nil
}

// Close frees the data set.
func (d *Dataset) Close() {
	runtime.SetFinalizer(d, nil)
	C.ondine_dataset_free(d.p)
}

func (d *Dataset) handle() *C.ondine_dataset {
	if d == nil {
		return nil
	}
	return d.p
}

// Open reads files and folders. options: group data.
func Open(options Options, places ...string) (*Dataset, error) {
	return OpenFor(nil, ForTraining, options, places...)
}

// OpenFor does the same as a model takes the data.
func OpenFor(model *Model, use Use, options Options, places ...string) (*Dataset, error) {
	defer runtime.KeepAlive(model)
	var m memory
	defer m.free()
	names, list := m.names(places), m.options(options)
	if m.err != nil {
		return nil, m.err
	}
	var p *C.ondine_dataset
	err := check(C.ondine_dataset_open(names, model.handle(), C.int(use), list, &p))
	return newDataset(p, err)
}

// FromValues takes tensors whose first axis counts rows. validation may be nil.
func FromValues(training, validation *Values, options Options) (*Dataset, error) {
	defer runtime.KeepAlive(training)
	defer runtime.KeepAlive(validation)
	var m memory
	defer m.free()
	list := m.options(options)
	if m.err != nil {
		return nil, m.err
	}
	var p *C.ondine_dataset
	err := check(C.ondine_dataset_from_values(training.handle(), validation.handle(), list, &p))
	return newDataset(p, err)
}

// FromRows takes rows that are read when they are needed, by one thread at a time: read fills an
// entry for each column with Put. The same row must have the same entries whenever it is read. An
// error of read becomes the cause of the error of the call.
func FromRows(columns []Column, rows uint64, read func(row uint64, entries []Entry) error,
	options Options) (*Dataset, error) {
	var m memory
	defer m.free()
	list := m.options(options)
	widths := make([]int, len(columns))
	size := int(unsafe.Sizeof(C.ondine_column{}))
	first := (*C.ondine_column)(m.alloc(len(columns) * size))
	for i, one := range columns {
		width, err := one.DType.bytes()
		if err != nil {
			return nil, err
		}
		for _, dim := range one.Dims {
			if dim < 0 || (dim > 0 && width > (1<<62)/dim) {
				m.fail(ErrMismatch, fmt.Sprintf("column '%s' has dims %v", one.Name, one.Dims))
				break
			}
			width *= dim
		}
		widths[i] = width
		given := &unsafe.Slice(first, len(columns))[i]
		given.name, given.dtype = m.text(one.Name), C.int(one.DType)
		given.rank, given.dims = C.size_t(len(one.Dims)), m.dims(one.Dims)
	}
	if read == nil {
		m.fail(ErrMismatch, "there is no function that reads rows")
	}
	if m.err != nil {
		return nil, m.err
	}
	made := register(&calls{row: read, columns: append([]Column(nil), columns...), widths: widths})
	var p *C.ondine_dataset
	// The library forgets it, also where the call fails.
	err := check(C.ondine_go_rows(first, C.size_t(len(columns)), C.uint64_t(rows), made.user(), list,
		&p))
	return newDataset(p, err)
}

// Describe tells rows, columns, classes, notes, ...
func (d *Dataset) Describe() (Report, error) {
	defer runtime.KeepAlive(d)
	var text *C.char
	err := check(C.ondine_dataset_describe(d.handle(), &text))
	return takeReport(text), err
}

// Rows counts the rows.
func (d *Dataset) Rows() (uint64, error) {
	defer runtime.KeepAlive(d)
	var rows C.uint64_t
	err := check(C.ondine_dataset_rows(d.handle(), &rows))
	return uint64(rows), err
}

// Training gives the training part without the validation part.
func (d *Dataset) Training() (*Dataset, error) {
	defer runtime.KeepAlive(d)
	var p *C.ondine_dataset
	err := check(C.ondine_dataset_training(d.handle(), &p))
	return newDataset(p, err)
}

// Validation gives the validation part, which may be empty.
func (d *Dataset) Validation() (*Dataset, error) {
	defer runtime.KeepAlive(d)
	var p *C.ondine_dataset
	err := check(C.ondine_dataset_validation(d.handle(), &p))
	return newDataset(p, err)
}

// Split divides the training part in two: fraction of the rows are the second's.
func (d *Dataset) Split(fraction float64, seed uint64) (first, second *Dataset, err error) {
	defer runtime.KeepAlive(d)
	var a, b *C.ondine_dataset
	err = check(C.ondine_dataset_split(d.handle(), C.double(fraction), C.uint64_t(seed), &a, &b))
	if err != nil {
		return nil, nil, err
	}
	first, _ = newDataset(a, nil)
	second, _ = newDataset(b, nil)
	return first, second, nil
}

// BatchOrder says the order of rows, which follows from seed and epoch, and what batches are for.
type BatchOrder struct {
	Seed, Epoch uint64
	InOrder     bool   // of the data, without shuffling
	Model       *Model // batches are feeds for its training algorithm Algorithm, or with -1 for Infer
	Algorithm   int
}

// Batches goes over batches.
type Batches struct{ p *C.ondine_batches }

// Batches gives the training part in batches of size rows.
func (d *Dataset) Batches(size int, order BatchOrder) (*Batches, error) {
	defer runtime.KeepAlive(d)
	defer runtime.KeepAlive(order.Model)
	if size < 0 {
		return nil, mismatch(fmt.Sprintf("a batch has at least one row, not %d", size))
	}
	b := &Batches{}
	err := check(C.ondine_batches_new(d.handle(), C.uint64_t(size), C.uint64_t(order.Seed),
		C.uint64_t(order.Epoch), flag(!order.InOrder), order.Model.handle(),
		C.int64_t(order.Algorithm), &b.p))
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(b, (*Batches).Close)
	return b, nil
}

// Close frees what goes over batches.
func (b *Batches) Close() {
	runtime.SetFinalizer(b, nil)
	C.ondine_batches_free(b.p)
}

// Count gives the batches of a whole epoch.
func (b *Batches) Count() (uint64, error) {
	defer runtime.KeepAlive(b)
	var count C.uint64_t
	err := check(C.ondine_batches_count(b.p, &count))
	return uint64(count), err
}

// Next gives the next batch, or nil after the last one.
func (b *Batches) Next() (*Values, error) {
	defer runtime.KeepAlive(b)
	var p *C.ondine_values
	err := check(C.ondine_batches_next(b.p, &p))
	return ownValues(p, err)
}
