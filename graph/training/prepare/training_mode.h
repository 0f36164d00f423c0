// The part of a network that computes differently while it trains.
#pragma once

#include "graph/training/prepare/parameters.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Copies what depends on a Dropout, or on a BatchNormalization whose scale or bias is trained, on
// the way to `value` into the writer's graph, in training mode; running statistics become state.
// Returns the name of the copy of `value`, or `value` itself when there is nothing to copy.
// Throws Error(unsupported) when such a node lies in a branch, a loop or a function.
std::string write_training_copy(GraphWriter& writer, const ModelDef& model,
                                const std::string& value, DType dtype,
                                const ParameterChoice& parameters, Properties& bindings);

}  // namespace ondine::graph
