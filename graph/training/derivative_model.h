// Turns a training model into an inference model that computes loss and gradients, for gradient
// checks.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

struct DerivativeOutput {
  std::string variable;  // a floating point initializer, now an input with a default
  std::string gradient;  // output of the model
  std::string sum;       // output of the model: the sum of the differentiated tensor
};

struct DerivativeModel {
  ModelDef model;
  std::vector<DerivativeOutput> outputs;
};

// Combines main and algorithm graph. The outputs are the derivatives that top-level Gradient nodes
// take with respect to initializers, and the sums of the tensors they differentiate. Nodes that
// none of them needs are left out.
DerivativeModel derivative_model(const ModelDef& model, std::size_t algorithm);

// Changes every tensor, type and type attribute of float32, float16 and bfloat16 to float64. A
// model with operators that do not allow float64 becomes invalid; the checker reports that.
void convert_to_float64(ModelDef& model);

}  // namespace ondine::graph
