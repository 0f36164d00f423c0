// Separates the loss that onnxruntime-training appends to a network from the network.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/values.h"

namespace ondine::trainer {

struct SplitModel {
  graph::ModelDef network;
  graph::ModelDef loss;             // inputs: values of the network, then labels
  std::vector<std::string> labels;  // inputs that only the loss reads
  // Outputs of the given model that depend on labels; nothing computes them any more.
  std::vector<std::string> dropped;
};

// `model` computes its first output, the loss. The loss is what depends on a label and the values
// that onnxblock named ("onnx::sub::3"), with the Constant nodes that it reads; without either it
// is the identity of the first output. A loss of one element becomes one of rank 0.
// `labels`: names of inputs, or empty for the inputs from which no path leads to a node that reads
// one of `parameters`, which are initializers. Throws Error(mismatch) for labels that are not
// inputs and values whose types are not in `types`.
SplitModel split_loss(const graph::ModelDef& model, const graph::ValueTypes& types,
                      const graph::Strings& parameters, const std::vector<std::string>& labels);

}  // namespace ondine::trainer
