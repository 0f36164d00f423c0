// Normalizations whose statistics and parameters are fixed.
#pragma once

#include "graph/training/prepare/parameters/paths.h"

namespace ondine::graph {

// The factors and terms of channels, under made-up names, that PyTorch's exporter leaves of such a
// normalization after a convolution without bias.
Strings folded_normalizations(const GraphDef& graph);

// Parameters and statistics of which values are computed that depend on no input and on statistics
// of their module.
Strings named_normalizations(const GraphDef& graph);

}  // namespace ondine::graph
