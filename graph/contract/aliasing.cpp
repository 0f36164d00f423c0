#include "graph/contract/aliasing.h"

#include "graph/contract/op_def.h"

namespace ondine::graph {
namespace {

constexpr std::size_t mask_bits = 32;
constexpr std::size_t first_variable = 2;  // inputs of an optimizer before the variables' lists

bool same_variable(const Node& node, std::size_t lists, std::size_t input, std::size_t output) {
  if (input < first_variable) return false;
  const std::size_t variables = (node.inputs.size() - first_variable) / lists;
  return variables > 0 && (input - first_variable) % variables == output % variables;
}

}  // namespace

bool may_alias(const Node& node, std::size_t input, std::size_t output) {
  const OpTraits& traits = node.op->traits;
  if (traits.variable_lists > 0) return same_variable(node, traits.variable_lists, input, output);
  if (output > 0 && !traits.inplace_every_output) return false;
  return input < mask_bits && (traits.inplace >> input & 1U) != 0;
}

ValueId viewed_input(const Node& node, std::size_t output) {
  return output == 0 && node.op->traits.view && !node.inputs.empty() ? node.inputs[0] : no_value;
}

}  // namespace ondine::graph
