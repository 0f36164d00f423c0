// Binding operators that copy one input, box by box, into one output.
#pragma once

#include <functional>

#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels {

struct ShapedCopy {
  Shape shape;  // of the output
  StridedCopy copy;
};

using CopyParameters = std::span<const std::vector<std::int64_t>>;
using MakeCopy = std::function<ShapedCopy(CopyParameters)>;

struct CopyOptions {
  bool fill = false;                           // write every element before the copy
  std::optional<std::size_t> fill_input = {};  // with the element of this input; zero without
  Tensor fill_value = {};                      // with this element, where defined
};

// The kernel of y = make(parameters) applied to input 0. `make` runs once when all parameters are
// known while planning, in each call otherwise.
graph::Kernel bind_copy(graph::BindContext& context, std::vector<IntegerParameter> parameters,
                        MakeCopy make, CopyOptions options = {});

// A copy of all elements in another order of axes: out axis a is axis perm[a] of `shape`.
StridedCopy permuted_copy(DType dtype, const Shape& shape, std::span<const std::size_t> perm);

}  // namespace ondine::kernels
