// Types and constants of a graph under preparation, as far as they are known.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// Types of the values of a main graph, as far as they are known.
using ValueTypes = std::map<std::string, TypeDef, std::less<>>;

// `types`, completed by what the graph declares of its inputs, outputs and values.
ValueTypes known_types(const GraphDef& graph, const ValueTypes& types);

// Elements of an integer initializer or of a Constant node.
std::optional<std::vector<std::int64_t>> constant_integers(const GraphDef& graph,
                                                           std::string_view name);
// The one element of a floating point initializer or Constant node.
std::optional<double> constant_number(const GraphDef& graph, std::string_view name);

// Whether all elements have the same bytes, as initial zeros and ones do; also where there are
// none.
bool all_equal(const Tensor& tensor);

std::int64_t integer_attribute(const NodeDef& node, std::string_view name, std::int64_t otherwise);

}  // namespace ondine::graph
