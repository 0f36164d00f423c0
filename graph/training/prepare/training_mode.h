// The part of a network that computes differently while it trains.
#pragma once

#include "graph/training/prepare/parameters.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Copies what depends on a Dropout, or on a BatchNormalization whose scale or bias is trained, on
// the way to `values` into the writer's graph, in training mode; running statistics become state.
// Returns the names of the copies, or a value's own when there is nothing to copy.
// Throws Error(unsupported) when such a node lies in a branch, a loop or a function.
std::vector<std::string> write_training_copy(GraphWriter& writer, const ModelDef& model,
                                             const std::vector<std::string>& values, DType dtype,
                                             const ParameterChoice& parameters,
                                             Properties& bindings);

}  // namespace ondine::graph
