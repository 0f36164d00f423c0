// Checks feeds against the declarations of the model.
#pragma once

#include <span>
#include <string>

#include <ondine/value.h>

#include "graph/ir/graph.h"
#include "graph/resolve/dim_classes.h"

namespace ondine::trainer {

// Throws Error(mismatch), naming the input, when dtype, rank or a dim differs from the declared one
// or a symbolic dim has two sizes. `values` are those of graph.inputs.
void check_feeds(const graph::Graph& graph, const graph::DimClasses& dims,
                 std::span<const std::string> names, std::span<const Value> values);

// "tensor(float)[N, 784]", symbolic dims by their names.
std::string describe_type(const graph::Type& type, const graph::Graph& graph);

}  // namespace ondine::trainer
