// What fusion passes share: who computes a value and how many read it.
#pragma once

#include <vector>

#include "graph/contract/node_view.h"
#include "graph/contract/op_def.h"
#include "graph/passes/rewrite.h"

namespace ondine::graph {

// Of a graph whose nodes stay where they are: fused nodes take the place of the last one, the
// others are left to remove_dead_nodes.
class Uses {
 public:
  explicit Uses(const Graph& graph);

  // The node that computes `id` when it is operator `op`, with output 0; else nullptr.
  const Node* made_by(ValueId id, std::string_view op, std::string_view domain = {}) const;
  // The same, when nothing but one input of one node reads the value.
  const Node* made_for_one(ValueId id, std::string_view op, std::string_view domain = {}) const;
  // Inputs of nodes, and outputs of the graph.
  int readers(ValueId id) const { return readers_[static_cast<std::size_t>(id)]; }

  // The same, when so many inputs read the value and no Gradient node names it.
  const Node* made_for(ValueId id, int readers, std::string_view op,
                       std::string_view domain = {}) const;
  // The number that a constant or a Constant node holds that no Gradient node names.
  std::optional<double> number(ValueId id) const;
  // The int64 elements of a constant or a Constant node.
  std::optional<std::vector<std::int64_t>> integers(ValueId id) const;

 private:
  Tensor constant(ValueId id) const;

  const Graph* graph_;
  std::vector<std::int32_t> producer_;
  std::vector<int> readers_;
  std::vector<bool> named_;
};

// The number that a tensor, a constant of one element of a floating point type holds.
std::optional<double> number_of(const Tensor& tensor);
std::optional<double> constant_number(const Graph& graph, ValueId id);

// Relu, or Clip with constant bounds that float holds; no bound is infinite.
struct ActivationNode {
  bool relu = false;
  std::optional<float> low;
  std::optional<float> high;
};
std::optional<ActivationNode> read_activation(const Node& node, const Graph& graph);

// Of BatchNormalization: whether it normalizes with the statistics of the batch, and each channel
// by itself.
bool trains_normalization(const Node& node);
bool normalizes_channels(const Node& node);

// Tensors of one dtype and of the same known shape (symbolic dims are the same by name).
bool same_tensor_type(const Graph& graph, ValueId a, ValueId b);
bool is_full_float(const Graph& graph, ValueId id);  // float32 or float64; an omitted output is not

// Calls fuse(node, uses), which returns whether it rewrote the node, for the graph and all
// subgraphs.
template <class Fuse>
bool fuse_nodes(Graph& graph, const Pass& pass, const PassContext& context, Fuse fuse) {
  bool changed = false;
  const Uses uses(graph);
  for (Node& node : graph.nodes) {
    changed = run_on_subgraphs(node, pass, context) || changed;
    changed = fuse(node, uses) || changed;
  }
  return changed;
}

}  // namespace ondine::graph
