// Which values of a graph a derivative reaches, and which of them are there to be learned.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "graph/ir/document.h"

namespace ondine::graph {

using Strings = std::set<std::string, std::less<>>;

// Operators of sums of products, whose result a bias is often added to by an Add of its own.
bool makes_products(std::string_view op) noexcept;

// Values through which a derivative of `output` may flow, those of subgraphs included.
Strings differentiable_values(const GraphDef& graph, const std::string& output);

struct WeightValues {
  Strings values;
  // What plays the part of a constant somewhere, and which.
  std::map<std::string, std::string, std::less<>> roles;
};
// The same without what plays the part of a constant: factors and exponents of one element that are
// not among `parameters`, divisors, what is taken off an input of the graph, scales of quantized
// weights, and zeros that a recurrent layer starts from.
WeightValues weight_values(const GraphDef& graph, const std::string& output,
                           const Strings& parameters = {});

}  // namespace ondine::graph
