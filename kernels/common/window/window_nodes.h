// Convolutions over a sliding window as nodes of Conv and ConvTranspose, for expansions.
#pragma once

#include "graph/contract/ops.h"
#include "kernels/common/window/sliding_window.h"

namespace ondine::kernels {

// A window whose padding is in numbers or, where it follows from dims that only a run knows, in
// int64 vectors over the spatial axes; then the window has none.
struct PaddedWindow {
  Window window;
  graph::Val begin, end;
};

// The window of a convolution or pool over a tensor of the shape `shape`, an int64 vector, whose
// spatial dims are `in`.
PaddedWindow resolved_window(const graph::NodeView& node, std::span<const std::int64_t> kernel,
                             std::span<const graph::Dim> in, graph::Val shape);
// The window of a transposed convolution from x to y, for auto_pad or output_shape: it is the
// window of the convolution from y to x. The shapes are int64 vectors.
PaddedWindow transposed_window(const graph::NodeView& node, std::span<const std::int64_t> kernel,
                               graph::Val x_shape, graph::Val y_shape);
// The padding in vectors, whichever form it has.
graph::Val begin_of(const PaddedWindow& window, graph::Builder& builder);
graph::Val end_of(const PaddedWindow& window, graph::Builder& builder);
// x with this padding of `value` along `axes` spatial axes.
graph::Val pad_spatial(graph::Val x, std::size_t axes, graph::Val begin, graph::Val end,
                       double value = 0);

// The kernel dims of weights. Error(unsupported) unless they are known.
std::vector<std::int64_t> kernel_dims(const graph::Type& w);
// The dims after the second one; dynamic ones while the rank is unknown.
graph::Dims spatial_part(const graph::Type& type, std::size_t axes);
// The elements after the second one of a shape.
graph::Val spatial_sizes(graph::Val shape);

// Conv(x, w).
graph::Val conv_node(graph::Val x, graph::Val w, const PaddedWindow& window, std::int64_t group);
// The adjoint of y = Conv(x, w) by x: dx of dy. `shape` is x's, `in` its spatial dims.
graph::Val adjoint_conv_node(graph::Val dy, graph::Val w, const PaddedWindow& window,
                             std::int64_t group, graph::Val shape, const graph::Dims& in);
// The derivative of y = Conv(x, w) by w, whose spatial dims are those of the window.
graph::Val conv_weight_node(graph::Val x, graph::Val dy, const PaddedWindow& window,
                            std::int64_t group);
// x without what lies beyond the spatial dims of `shape`, which are `dims`.
graph::Val cut_spatial(graph::Val x, graph::Val shape, const graph::Dims& dims);

}  // namespace ondine::kernels
