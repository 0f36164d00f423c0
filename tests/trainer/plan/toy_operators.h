// Operators without kernels, and graphs of them, which are planned and not run.
#pragma once

#include <utility>
#include <vector>

#include "graph/contract/op_def.h"
#include "graph/ir/graph.h"

namespace ondine::test {

inline void infer_nothing(graph::InferContext&) {}

inline const graph::OpDef plain{.name = "Plain", .infer = infer_nothing};
inline const graph::OpDef view{.name = "View", .infer = infer_nothing, .traits = {.view = true}};

// A graph whose nodes are made one by one; values are counted in MiB.
struct ToyGraph {
  graph::Graph graph;
  std::vector<bool> outside;

  graph::ValueId add(std::int64_t size, bool is_outside = false) {
    outside.push_back(is_outside);
    return graph.add_temporary("value", graph::Type::tensor(DType::uint8, Shape{size << 20}));
  }
  graph::ValueId input(std::int64_t size) {
    graph.inputs.push_back(add(size));
    return graph.inputs.back();
  }
  graph::ValueId node(std::vector<graph::ValueId> inputs, std::int64_t size,
                      const graph::OpDef& op = plain) {
    graph::Node node;
    node.op = &op;
    node.inputs = std::move(inputs);
    node.outputs = {add(size)};
    graph.nodes.push_back(node);
    return node.outputs[0];
  }
};

}  // namespace ondine::test
