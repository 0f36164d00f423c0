// Traversal of the graphs that a model definition nests in attributes.
#pragma once

#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// visit(const Attribute&, const GraphDef&) for each graph that the node holds.
template <class Visit>
void for_each_subgraph(const NodeDef& node, Visit&& visit) {
  using One = std::shared_ptr<const GraphDef>;
  for (const auto& attribute : node.attributes) {
    if (const auto* one = std::get_if<One>(&attribute.data)) {
      if (*one != nullptr) visit(attribute, **one);
    } else if (const auto* many = std::get_if<std::vector<One>>(&attribute.data)) {
      for (const auto& each : *many) {
        if (each != nullptr) visit(attribute, *each);
      }
    }
  }
}

// visit(const NodeDef&) for each node and, after it, each node in its subgraphs.
template <class Visit>
void for_each_node(const std::vector<NodeDef>& nodes, const Visit& visit) {
  for (const auto& node : nodes) {
    visit(node);
    for_each_subgraph(node, [&](const Attribute&, const GraphDef& subgraph) {
      for_each_node(subgraph.nodes, visit);
    });
  }
}

// visit(const GraphDef&) for `graph` and each subgraph in it, outer ones first.
template <class Visit>
void for_each_graph(const GraphDef& graph, const Visit& visit) {
  visit(graph);
  for (const auto& node : graph.nodes) {
    for_each_subgraph(
        node, [&](const Attribute&, const GraphDef& subgraph) { for_each_graph(subgraph, visit); });
  }
}

}  // namespace ondine::graph
