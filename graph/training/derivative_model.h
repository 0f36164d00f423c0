// A training model as an inference model of its loss and gradients.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

struct DerivativeOutput {
  std::string variable;  // a floating point initializer, now an input with a default
  std::string gradient;  // output of the model
  std::string sum;       // output of the model: the sum of what is derived
};

struct DerivativeModel {
  ModelDef model;
  std::vector<DerivativeOutput> outputs;
};

// Main graph and algorithm graph joined; its outputs are what the top-level Gradient nodes derive
// by initializers, and the tensors that are derived.
DerivativeModel derivative_model(const ModelDef& model, std::size_t algorithm);

// Every float32 tensor, type and type attribute becomes float64. Operators that allow float32 only
// then break the model, which is for the checker to find.
void widen(ModelDef& model);

}  // namespace ondine::graph
