// What a training algorithm computes of a batch besides updating the model, in evaluation mode.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

struct EvaluationModel {
  // Without training. The main graph is main and algorithm graph combined, in evaluation mode and
  // without what depends on a Gradient or an optimizer: Dropout passes its input through and
  // BatchNormalization uses its running statistics, in subgraphs and functions too.
  ModelDef model;
  // The algorithm's outputs that are left and that no state variable is bound to.
  std::vector<std::string> default_outputs;
  // Inputs of main and algorithm graph that nothing left reads.
  std::vector<std::string> unread_inputs;
};

EvaluationModel evaluation_model(const ModelDef& model, std::size_t algorithm);

}  // namespace ondine::graph
