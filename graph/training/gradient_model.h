// The derivatives that a training algorithm takes, without what it makes of them.
#pragma once

#include <string>
#include <vector>

#include "graph/training/evaluation_model.h"

namespace ondine::graph {

struct GradientModel {
  // Main and algorithm graph combined, in training mode; its default outputs are the derivatives.
  EvaluationModel evaluation;
  std::vector<std::string> variables;  // by output: the state variable
};

// The derivatives that Gradient nodes of the algorithm take by state variables at their present
// values. The factor of a loss scale that prepare wrote is divided out. Throws Error(mismatch) when
// there are none and when several nodes take one by the same variable.
GradientModel gradient_model(const ModelDef& model, std::size_t algorithm);

}  // namespace ondine::graph
