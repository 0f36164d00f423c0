// Arrays of Python as values of the library and back.
#pragma once

#include "calls.h"

namespace ondine::python {

// Values of the dictionary. Elements stay where they are and must outlive the values: numpy and
// anything with DLPack or the buffer protocol; TypeError and ValueError for anything that would
// have to be copied. Texts: a pair of a shape and a list. A list is a sequence, None an empty
// optional.
Values to_values(const Dict& feeds);
// Values of the dictionary that keep references to the arrays as long as the library uses them.
Values to_lasting_values(const Dict& feeds);
Value to_value(nb::handle object, bool lasting);

// Tensors as numpy arrays that share their elements, numbers of rank 0 as numpy scalars, sequences
// as lists, maps as dictionaries, empty optionals as None.
nb::object to_python(Value value);
Dict to_dict(const ondine_values* values);

}  // namespace ondine::python
