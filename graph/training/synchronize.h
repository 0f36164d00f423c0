// Statistics of a batch that several processes compute parts of.
#pragma once

#include "graph/ir/document.h"

namespace ondine::graph {

// Replaces the nodes of the main graph that compute statistics of the batch, BatchNormalization in
// training mode, by nodes that compute them of all parts of the batch, with BatchMean
// (kernels/norm/batch_mean.cpp). Throws Error(unsupported) where there is none, where one is in a
// subgraph or a function, and before ai.onnx 15.
void synchronize_statistics(ModelDef& model);

}  // namespace ondine::graph
