// The attributes of a depthwise convolution of normalized planes: those of Conv and of
// BatchNormalizationActivation, which expansions give to these again.
#pragma once

#include "graph/contract/builder.h"
#include "graph/contract/node_view.h"

namespace ondine::kernels::ops {

graph::Attributes convolution_attributes(const graph::NodeView& node);
graph::Attributes normalization_attributes(const graph::NodeView& node);

}  // namespace ondine::kernels::ops
