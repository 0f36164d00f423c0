// Operators whose axis is a scalar input (CumSum, CumProd).
#pragma once

#include "kernels/common/integer_parameters.h"

namespace ondine::kernels {

// The single element of an axis input, normalized. Error(mismatch) unless it has exactly one
// element.
std::size_t axis_from(std::span<const std::int64_t> values, std::size_t rank);

// y has the type of x; the axis is checked where it is known.
void infer_along_axis(graph::InferContext& context, std::size_t axis_input);

}  // namespace ondine::kernels
