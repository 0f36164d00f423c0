// Operators that only change the shape: the output has the input's elements in the same order.
#pragma once

#include <functional>

#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"

namespace ondine::kernels {

inline constexpr graph::OpTraits reshape_traits{.inplace = 1, .view = true, .cheap = true};

// The output's shape from the parameter's elements.
using ReshapedShape = std::function<Shape(std::span<const std::int64_t> parameter)>;

// Copies unless input and output share memory. `parameter` may be known only at run time.
graph::Kernel bind_reshape(graph::BindContext& context, const IntegerParameter& parameter,
                           const ReshapedShape& output_shape);

// Sets output 0 to the dtype of input 0 with `dims`, and its elements where they are known.
void set_reshaped_output(graph::InferContext& context, std::optional<graph::Dims> dims);

// dx = dy in the shape of x.
std::vector<graph::Val> reshape_gradient(graph::GradContext& g);

}  // namespace ondine::kernels
