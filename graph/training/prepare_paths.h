// Which values of a graph a derivative reaches, and which of them are there to be learned.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "graph/ir/document.h"

namespace ondine::graph {

using Strings = std::set<std::string, std::less<>>;

// Operators of sums of products, whose result a bias is often added to by an Add of its own.
bool makes_products(std::string_view op) noexcept;

// Values through which a derivative of `output` may flow.
Strings differentiable_values(const GraphDef& graph, const std::string& output);

// The same without what plays the part of a constant: factors and exponents of one element,
// divisors, what is taken off an input of the graph, and zeros that a recurrent layer starts from.
Strings weight_values(const GraphDef& graph, const std::string& output);

}  // namespace ondine::graph
