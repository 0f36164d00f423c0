// The part of a network that computes differently while it trains.
#pragma once

#include "graph/training/prepare/parameters/parameters.h"
#include "graph/training/prepare/renaming.h"
#include "graph/training/prepare/writer.h"
#include "graph/training/quantize/aware.h"

namespace ondine::graph {

// Copies what depends on a Dropout, on a BatchNormalization whose scale or bias is trained or on an
// activation of `quantized`, on the way to `values` into the writer's graph, in training mode;
// running statistics and scales of activations become state.
// So does what reads a value of `instead`, with the one that stands for it.
// Returns the names of the copies, or a value's own when there is nothing to copy.
// Throws Error(unsupported) when such a node lies in a branch, a loop or a function.
std::vector<std::string> write_training_copy(GraphWriter& writer, const ModelDef& model,
                                             const std::vector<std::string>& values, DType dtype,
                                             const ParameterChoice& parameters,
                                             const QuantizedNetwork& quantized,
                                             Properties& bindings, const Renaming& instead = {});
// Copies the nodes that depend on a value of `instead` alone, without training mode.
std::vector<std::string> write_copy(GraphWriter& writer, const ModelDef& model,
                                    const std::vector<std::string>& values,
                                    const Renaming& instead);

}  // namespace ondine::graph
