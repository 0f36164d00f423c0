// Rules that convolutions which normalize their input share. Their attributes are those of Conv and
// of BatchNormalizationActivation; expansions hand them on to these operators.
#pragma once

#include <vector>

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"
#include "graph/contract/node_view.h"
#include "kernels/common/expansion.h"

namespace ondine::kernels::ops {

graph::Attributes convolution_attributes(const graph::NodeView& node);
graph::Attributes normalization_attributes(const graph::NodeView& node);

// (x, scale, bias, mean, variance, w) -> y = Conv(z, w) and the other outputs of
// BatchNormalization, with z = BatchNormalizationActivation(x, ...) by the statistics of the batch.
void infer_normalized_conv(graph::InferContext& context);
std::vector<graph::Val> expand_normalized_conv(graph::ExpandContext& context);

}  // namespace ondine::kernels::ops
