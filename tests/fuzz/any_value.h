// Numbers, shapes and tensors, ordinary ones as well as those at the edge of what is possible.
#pragma once

#include <string>
#include <vector>

#include <ondine/tensor.h>

#include "graph/ir/document.h"
#include "tests/fuzz/choices.h"

namespace ondine::test {

std::int64_t any_integer(Choices& choices);
double any_real(Choices& choices);
std::string any_text(Choices& choices);
// Mostly `usual`; otherwise at most 4 extents of at most 5, or one of 0 and large ones.
Shape any_shape(Choices& choices, const Shape& usual);
// Elements as of any_integer and any_real, brought to the type's width by cutting bits off.
Tensor any_tensor(Choices& choices, DType dtype, const Shape& shape);

}  // namespace ondine::test
