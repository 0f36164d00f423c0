// Convolutions over a sliding window as nodes of Conv and ConvTranspose, for expansions.
#pragma once

#include "graph/contract/ops.h"
#include "kernels/common/window/sliding_window.h"

namespace ondine::kernels {

// The window with its padding in numbers, for spatial dims `in`. Error(unsupported) where the
// padding depends on a dim that is not known.
Window resolved_window(const graph::NodeView& node, std::span<const std::int64_t> kernel,
                       std::span<const graph::Dim> in);
// The kernel dims of weights. Error(unsupported) unless they are known.
std::vector<std::int64_t> kernel_dims(const graph::Type& w);
// The dims after the second one; dynamic ones while the rank is unknown.
graph::Dims spatial_part(const graph::Type& type, std::size_t axes);

// Conv(x, w).
graph::Val conv_node(graph::Val x, graph::Val w, const Window& window, std::int64_t group);
// The adjoint of y = Conv(x, w) by x: dx of dy. `shape` is x's, `in` its spatial dims.
graph::Val adjoint_conv_node(graph::Val dy, graph::Val w, const Window& window, std::int64_t group,
                             graph::Val shape, const graph::Dims& in);
// The derivative of y = Conv(x, w) by w, whose spatial dims are those of the window.
graph::Val conv_weight_node(graph::Val x, graph::Val dy, const Window& window, std::int64_t group);
// x without what lies beyond the spatial dims of `shape`, which are `dims`.
graph::Val cut_spatial(graph::Val x, graph::Val shape, const graph::Dims& dims);

}  // namespace ondine::kernels
