// Expansions: derivatives of fused operators, and what expansions share.
#pragma once

#include <string>
#include <vector>

#include "graph/contract/builder.h"

namespace ondine::kernels {

// A gradient rule: expands the node and differentiates the expansion. With it a fused operator is
// expanded only where its own derivative is asked for.
std::vector<graph::Val> grad_of_expansion(graph::GradContext& g);

// For an expansion: the type of the node's first output.
const graph::Type& result_type(const graph::ExpandContext& context);
// x. Where its rank is not known yet, running it refuses ranks that are not among `ranks`, with the
// text `needed`.
graph::Val of_rank(graph::Val x, std::vector<std::int64_t> ranks, std::string needed);
// x. Where dims are not known yet, running it refuses an x whose dims `axes` are not the dims
// `like_axes` of `like`, with a message that begins with `what`.
graph::Val with_dims_of(graph::Val x, std::vector<std::int64_t> axes, graph::Val like,
                        std::vector<std::int64_t> like_axes, std::string what);
// with_dims_of for all dims.
graph::Val with_dims_of(graph::Val x, graph::Val like, std::string what);
// with_dims_of for one dim, which must be `size` (with_dim) or a multiple of `of` (with_multiple).
graph::Val with_dim(graph::Val x, std::int64_t axis, std::int64_t size, std::string what);
graph::Val with_multiple(graph::Val x, std::int64_t axis, std::int64_t of, std::string what);
// Zeros of a shape that is an int64 vector.
graph::Val zeros(graph::Val shape, DType dtype);
// The adjoint of an operator that copies elements: `offsets`, in the shape of dy, is what the
// operator makes of positions(shape). Zeros of `shape` to which every element of dy is added.
graph::Val positions(graph::Val shape);  // 0, 1, ... of this shape
graph::Val add_at(graph::Val dy, graph::Val offsets, graph::Val shape);

}  // namespace ondine::kernels
