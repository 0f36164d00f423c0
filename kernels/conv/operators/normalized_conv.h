// Attributes of convolutions that normalize their input: those of Conv and of
// BatchNormalizationActivation, to which expansions hand them on.
#pragma once

#include "graph/contract/node_view.h"
#include "graph/ir/graph.h"

namespace ondine::kernels::ops {

graph::Attributes convolution_attributes(const graph::NodeView& node);
graph::Attributes normalization_attributes(const graph::NodeView& node);

}  // namespace ondine::kernels::ops
