// Steps of a FusedElementwise node, read from its attributes.
#pragma once

#include <string>
#include <vector>

#include "graph/contract/node_view.h"

namespace ondine::kernels::ops {

// Operand o is input o of the node, or the result of step o - inputs.
struct ElementwiseStep {
  std::string op;
  std::size_t left = 0;
  std::size_t right = 0;  // left again where the operator has one operand
};

struct FusedElementwise {
  static constexpr std::size_t max_operands = 32;  // inputs and steps together
  std::vector<ElementwiseStep> steps;
  std::vector<std::size_t> results;  // steps, one for each output

  // Error(invalid_model) when a step names an operand that does not come before it, or there are
  // more than max_operands.
  static FusedElementwise read(const graph::NodeView& node);
  // Reads the attributes of a node that has other inputs: `inputs` of them are operands.
  static FusedElementwise read(const graph::NodeView& node, std::size_t inputs);
};

}  // namespace ondine::kernels::ops
