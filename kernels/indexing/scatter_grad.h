// The derivative of every Scatter operator, given functions that gather and scatter at its indices.
#pragma once

#include <functional>

#include "kernels/indexing/element_offsets.h"

namespace ondine::kernels {

using GatherAt = std::function<graph::Val(graph::Val x)>;
using ScatterAt =
    std::function<graph::Val(graph::Val x, graph::Val updates, const std::string& reduction)>;

// Inputs of the node: data, indices, updates.
std::vector<graph::Val> grad_scatter(graph::GradContext& g, const GatherAt& gather,
                                     const ScatterAt& scatter);

}  // namespace ondine::kernels
