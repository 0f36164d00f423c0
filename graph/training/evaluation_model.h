// The part of a training algorithm that evaluates a batch without updating the model.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

struct EvaluationModel {
  // An inference model: main and algorithm graph combined, in evaluation mode (see
  // evaluation_mode.h; includes subgraphs and functions) and without the nodes that depend on a
  // Gradient or an optimizer.
  ModelDef model;
  // The algorithm's remaining outputs to which no state variable is bound.
  std::vector<std::string> default_outputs;
  // Inputs of main and algorithm graph that no remaining node reads.
  std::vector<std::string> unread_inputs;
};

EvaluationModel evaluation_model(const ModelDef& model, std::size_t algorithm);

// Removes what no output needs: nodes, initializers and inputs, which become unread ones.
void keep_needed(EvaluationModel& evaluation);

}  // namespace ondine::graph
