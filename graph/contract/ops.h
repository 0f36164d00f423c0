// Operator functions for gradient rules and expansions. Each call appends a node; binary operators
// broadcast. A double operand becomes a scalar constant of the other operand's dtype.
#pragma once

#include <optional>

#include "graph/contract/builder.h"

namespace ondine::graph {

Val operator+(Val a, Val b);
Val operator-(Val a, Val b);
Val operator*(Val a, Val b);
Val operator/(Val a, Val b);
Val operator-(Val a);
Val operator+(Val a, double b);
Val operator-(Val a, double b);
Val operator*(Val a, double b);
Val operator/(Val a, double b);
Val operator+(double a, Val b);
Val operator-(double a, Val b);
Val operator*(double a, Val b);
Val operator/(double a, Val b);

Val unary(std::string_view op, Val x);  // "Exp", "Log", "Sqrt", "Tanh", "Sign", ...
Val pow(Val x, Val exponent);
Val pow(Val x, double exponent);
Val minimum(Val a, Val b);
Val maximum(Val a, Val b);
Val less(Val a, Val b);
Val greater(Val a, Val b);
Val equal(Val a, Val b);
Val logical_and(Val a, Val b);
Val logical_not(Val a);
Val where(Val condition, Val a, Val b);
Val cast(Val x, DType dtype);  // x itself when it has the dtype
// A scalar constant of x's dtype.
Val scalar_like(Val x, double value);

Val shape_of(Val x);  // int64 vector; does not read the elements
Val size_of(Val x);   // number of elements, int64 scalar; does not read the elements
// Size of one axis as an int64 vector of length 1.
Val dim_of(Val x, std::int64_t axis);
Val reshape(Val x, Val shape);
Val reshape(Val x, std::vector<std::int64_t> shape);  // -1 and 0 as in Reshape
Val reshape_like(Val x, Val like);
Val expand(Val x, Val shape);
Val expand_like(Val x, Val like);
Val zeros_like(Val x);
Val full_like(Val x, double value);
// The adjoint of broadcasting: sums x over the axes along which `like` was broadcast. Reads only
// the shape of `like`.
Val sum_to(Val x, Val like);
Val transpose(Val x, std::vector<std::int64_t> perm);
Val unsqueeze(Val x, std::vector<std::int64_t> axes);
Val squeeze(Val x, std::vector<std::int64_t> axes);
Val concat(std::span<const Val> parts, std::int64_t axis);
// x[start : end : step] on one axis.
Val slice(Val x, std::int64_t start, std::int64_t end, std::int64_t axis, std::int64_t step = 1);
Val gather(Val x, Val indices, std::int64_t axis);

Val matmul(Val a, Val b);
// Without axes: over all axes.
Val reduce_sum(Val x, std::vector<std::int64_t> axes, bool keepdims);
Val reduce_mean(Val x, std::vector<std::int64_t> axes, bool keepdims);
Val reduce_max(Val x, std::vector<std::int64_t> axes, bool keepdims);
Val softmax(Val x, std::int64_t axis);

}  // namespace ondine::graph
