// Graphs written node by node, and lists of their parts.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "autodiff/expand.h"
#include "graph/contract/builder.h"
#include "graph/contract/ops.h"
#include "tests/support/op_harness.h"

namespace ondine::test {

// A graph under construction whose inputs are double vectors of 3.
struct GraphWriter {
  GraphWriter() : builder(graph, catalogue()) {}
  GraphWriter(const GraphWriter&) = delete;
  GraphWriter& operator=(const GraphWriter&) = delete;

  graph::Val input(const std::string& name) {
    const auto id = graph.add_value(name, graph::Type::tensor(DType::float64, Shape{3}));
    graph.inputs.push_back(id);
    return builder.value(id);
  }

  // A Gradient node; returns its outputs, as many as there are `xs`.
  std::vector<graph::Val> gradient(const std::vector<graph::Val>& inputs,
                                   const std::vector<graph::Val>& xs, graph::Val y) {
    graph::Node node;
    node.op = &autodiff::gradient_op;
    node.version = 1;
    std::vector<std::string> names;
    for (const graph::Val x : inputs) node.inputs.push_back(x.id());
    for (const graph::Val x : xs) {
      names.push_back(graph[x.id()].name);
      node.references.push_back(x.id());
      node.outputs.push_back(graph.add_temporary("d"));
    }
    node.references.push_back(y.id());
    node.attributes = {{"xs", names}, {"y", graph[y.id()].name}};
    const auto outputs = node.outputs;
    builder.append(std::move(node));
    std::vector<graph::Val> result;
    for (const graph::ValueId id : outputs) result.push_back(builder.value(id));
    return result;
  }

  graph::Graph graph;
  graph::Builder builder;
};

// Operators of the nodes from `first` on, sorted.
inline std::vector<std::string> operators_of(const graph::Graph& graph, std::size_t first = 0) {
  std::vector<std::string> names;
  for (std::size_t i = first; i < graph.nodes.size(); ++i) {
    names.emplace_back(graph.nodes[i].op->name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::size_t count_of(const graph::Graph& graph, const std::string& op) {
  const auto names = operators_of(graph);
  return static_cast<std::size_t>(std::count(names.begin(), names.end(), op));
}

}  // namespace ondine::test
