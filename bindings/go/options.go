package ondine

// #include "shims.h"
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Options has options by the names of the command line without the dashes. Values are texts,
// numbers, booleans, or slices of them for an option that is repeated; the library checks them.
// OptionTable lists all.
type Options map[string]any

func (m *memory) options(given Options) *C.ondine_option {
	var pairs [][2]string
	for name, value := range given {
		list := reflect.ValueOf(value)
		if list.Kind() != reflect.Slice {
			list = reflect.ValueOf([]any{value})
		}
		for i := 0; i < list.Len(); i++ {
			pairs = append(pairs, [2]string{name, m.optionText(name, list.Index(i).Interface())})
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(C.ondine_option{}))
	made := (*C.ondine_option)(m.alloc((len(pairs) + 1) * size))
	list := unsafe.Slice(made, len(pairs))
	for i, pair := range pairs {
		list[i].name, list[i].value = m.text(pair[0]), m.text(pair[1])
	}
	return made
}

func (m *memory) optionText(name string, value any) string {
	switch reflect.ValueOf(value).Kind() {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprint(value)
	}
	m.fail(ErrInvalidOption, fmt.Sprintf(
		"option '%s' is a %T: give a text, number, boolean or a slice of them", name, value))
	return ""
}
