// Output dims and sampling of Resize-like nodes.
#pragma once

#include <optional>

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "kernels/image/resize_axis.h"

namespace ondine::kernels {

struct ResizePlan {
  std::vector<std::optional<AxisMap>> maps;  // of each axis that is not left as it is
};

// Scales that old Upsample nodes have as attributes; empty otherwise.
std::vector<float> attribute_scales(const graph::NodeView& node);
// The dims of y from the scales or sizes and the dims of x, which are not those of input 0 in
// ResizeGrad.
std::optional<graph::Dims> resized_dims(const graph::InferContext& context,
                                        const std::optional<graph::Dims>& x);
ResizePlan make_resize_plan(const graph::BindContext& context, const Shape& x, const Shape& y);

}  // namespace ondine::kernels
