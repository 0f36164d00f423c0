// Binds nodes whose shapes are all known.
#pragma once

#include <optional>

#include <ondine/limits.h>

#include "graph/contract/kernel.h"
#include "graph/ir/graph.h"

namespace ondine::trainer {

struct BoundNode {
  graph::Kernel kernel;
  std::size_t workspace_bytes = 0;
  graph::Implementation implementation;
};

struct BindOptions {
  const Limits& limits;
  int threads = 1;
  Precision precision = Precision::float32;
};

// nullopt when binding needs the elements of an input that is not constant; the node is then
// dynamic. Errors name the node.
std::optional<BoundNode> bind_static(const graph::Node& node, const graph::Graph& graph,
                                     const BindOptions& options);

// Which inputs of a node may be bfloat16. None unless all shapes are known.
graph::RoundedInputs rounded_inputs(const graph::Node& node, const graph::Graph& graph,
                                    const BindOptions& options);
// How output 0 of a node may be rounded. Never unless all shapes are known.
graph::RoundedResult rounded_result(const graph::Node& node, const graph::Graph& graph,
                                    const BindOptions& options);

}  // namespace ondine::trainer
