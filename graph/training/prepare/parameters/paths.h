// Values that a derivative reaches, and those among them that are learned.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "graph/ir/document.h"

namespace ondine::graph {

using Strings = std::set<std::string, std::less<>>;

// Operators that compute sums of products. A separate Add often adds the bias to their result.
bool makes_products(std::string_view op) noexcept;

// Values through which a derivative of `outputs` may flow, those of subgraphs included.
Strings differentiable_values(const GraphDef& graph, const Strings& outputs);

// How nodes use a tensor that is no parameter.
struct ConstantRole {
  std::string text;
  bool is_guess = false;  // it may be a parameter all the same
};

struct WeightValues {
  Strings values;
  // Values that some node uses as a constant.
  std::map<std::string, ConstantRole, std::less<>> roles;
};
// Differentiable values without those used as constants, unless they are in `parameters`. Constants
// are factors, exponents and alternatives of one element, divisors, values subtracted from a graph
// input, scales of quantized weights, tables of rotations, zeros beside the infinities of a mask,
// and zero initial states of recurrent layers.
WeightValues weight_values(const GraphDef& graph, const Strings& outputs,
                           const Strings& parameters = {});

}  // namespace ondine::graph
