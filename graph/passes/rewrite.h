// Helpers of passes: replacing values, inserting and removing nodes.
#pragma once

#include <vector>

#include "graph/passes/pass.h"

namespace ondine::graph {

// A map from values to the values that replace them: themselves at first, also those that are added
// later.
class Substitution {
 public:
  explicit Substitution(const Graph& graph);

  void replace(ValueId old_value, ValueId new_value);
  ValueId operator[](ValueId id) const;
  // Replaces inputs, captures and references of the node. Returns whether any changed.
  bool apply(Node& node) const;

 private:
  std::vector<ValueId> targets_;
};

// One flag per value.
std::vector<bool> output_flags(const Graph& graph);    // outputs of the graph
std::vector<bool> produced_flags(const Graph& graph);  // outputs of nodes
// Values that nodes, captures and Gradient nodes read, and the outputs of the graph.
std::vector<bool> read_flags(const Graph& graph);
// Values that a Gradient node names, or may name in a subgraph.
std::vector<bool> named_flags(const Graph& graph);
// Whether a subgraph of the node captures a value that has the flag.
bool captures_flagged(const Node& node, const std::vector<bool>& flags);

// Removes the nodes on which no output depends. Returns whether there were any.
bool drop_dead_nodes(Graph& graph);

// Forgets the constants that no node and no output reads, so that their memory may go.
void drop_unread_constants(Graph& graph);

// The graph without the values that no node, input or output mentions and without spare memory.
// Keeps those with a declared type. Ids change, their order does not.
Graph without_unused_values(Graph graph);

// Removes, in order and in place, the nodes for which keep(node, position) is false. `position` is
// where the node goes if it stays, after the nodes that stayed; keep may change the node.
template <class Keep>
void keep_nodes(Graph& graph, Keep keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!keep(graph.nodes[i], kept)) continue;
    if (i != kept) graph.nodes[kept] = std::move(graph.nodes[i]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

// Removes the nodes whose positions are flagged.
void erase_nodes(Graph& graph, const std::vector<bool>& gone);

// Nodes that are to stand before the node at `position`.
struct Insertion {
  std::size_t position = 0;
  std::vector<Node> nodes;
};
// `insertions` by rising positions.
void insert_nodes(Graph& graph, std::vector<Insertion> insertions);

// Whether holds(id) is true for every used output of the node.
template <class Holds>
bool all_outputs(const Node& node, Holds holds) {
  for (const ValueId output : node.outputs) {
    if (output != no_value && !holds(output)) return false;
  }
  return true;
}

}  // namespace ondine::graph
