// Comparing what is fed with what the model declares.
#pragma once

#include <span>
#include <string>

#include <ondine/value.h>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// Throws Error(mismatch) naming the input when dtype, rank or a dim is not the declared one, or
// when one symbolic dim has two sizes. `values` belong to graph.inputs.
void check_feeds(const graph::Graph& graph, std::span<const std::string> names,
                 std::span<const Value> values);

// "tensor(float)[N, 784]", symbolic dims by their names.
std::string describe_type(const graph::Type& type, const graph::Graph& graph);

}  // namespace ondine::trainer
