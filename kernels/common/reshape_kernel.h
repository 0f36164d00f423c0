// Operators whose output has the input's elements in the same order: only the shape is new.
#pragma once

#include <functional>

#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"

namespace ondine::kernels {

inline constexpr graph::OpTraits view_facts{.inplace = 1, .view = true, .cheap = true};

// The output's shape from the parameter's elements.
using ViewShape = std::function<Shape(std::span<const std::int64_t> parameter)>;

// Copies unless input and output share memory. `parameter` may be known only at run time.
graph::Kernel bind_view(graph::BindContext& context, const Ints& parameter,
                        const ViewShape& output_shape);

// Sets output 0 to the dtype of input 0 with `dims`, and its elements where they are known.
void set_view(graph::InferContext& context, std::optional<graph::Dims> dims);

// dx = dy in the shape of x.
std::vector<graph::Val> grad_view(graph::GradContext& g);

}  // namespace ondine::kernels
