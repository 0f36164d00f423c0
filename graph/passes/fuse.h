// Helpers of fusion passes: producers and readers of values, and patterns that passes share.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "graph/contract/node_view.h"
#include "graph/contract/op_def.h"
#include "graph/passes/rewrite.h"

namespace ondine::graph {

// Producers and readers of each value. Valid while nodes keep their positions: a pass replaces the
// last fused node in place and leaves the others to remove_dead_nodes. Values that were added since
// have neither.
class Uses {
 public:
  explicit Uses(const Graph& graph);

  // The node whose output 0 is `id`; nullptr where there is none.
  const Node* producer(ValueId id) const;
  // The producer if it is operator `op`; nullptr otherwise.
  const Node* producer(ValueId id, std::string_view op, std::string_view domain = {}) const;
  // The producer if it is operator `op` and the value has one reader; nullptr otherwise.
  const Node* sole_producer(ValueId id, std::string_view op, std::string_view domain = {}) const;
  // How many inputs of nodes and outputs of the graph are this value.
  int readers(ValueId id) const { return knows(id) ? readers_[static_cast<std::size_t>(id)] : 0; }

  // Whether a Gradient node names the value, which must then be computed.
  bool is_named(ValueId id) const { return knows(id) && named_[static_cast<std::size_t>(id)]; }
  // As producer(), provided that the value has `readers` readers and no Gradient node names it.
  const Node* producer_for(ValueId id, int readers, std::string_view op,
                           std::string_view domain = {}) const;
  // The number held by a constant or a Constant node, unless a Gradient node names it.
  std::optional<double> number(ValueId id) const;
  // The int64 elements of a constant or a Constant node.
  std::optional<std::vector<std::int64_t>> integers(ValueId id) const;
  // A constant or what a Constant node holds; undefined for other values.
  Tensor constant(ValueId id) const;

 private:
  bool knows(ValueId id) const {
    return id != no_value && static_cast<std::size_t>(id) < producer_.size();
  }

  const Graph* graph_;
  std::vector<std::int32_t> producer_;
  std::vector<int> readers_;
  std::vector<bool> named_;
};

// The nodes of one operator by what they read as one of their inputs, in the order of the graph.
class ReadersByInput {
 public:
  ReadersByInput(const Graph& graph, std::string_view op, std::string_view domain,
                 std::size_t input);

  // Their positions in the graph.
  std::span<const std::size_t> of(ValueId id) const;

 private:
  std::unordered_map<ValueId, std::vector<std::size_t>> positions_;
};

// The number in a floating point tensor or constant of one element.
std::optional<double> number_of(const Tensor& tensor);
std::optional<double> constant_number(const Graph& graph, ValueId id);

// Relu, or Clip with constant bounds that are exact in float; no bound is infinite.
struct ActivationNode {
  bool relu = false;
  std::optional<float> low;
  std::optional<float> high;
};
std::optional<ActivationNode> read_activation(const Node& node, const Graph& graph);

// Whether a Transpose of a tensor of this rank swaps its last two dims and keeps the others.
bool swaps_last_two(const NodeView& transpose, std::size_t rank);
// Whether a Gemm is A op(B) plus an optional C, with no factors.
bool is_plain_gemm(const NodeView& gemm);

// Whether a BatchNormalization uses the statistics of the batch, and whether it normalizes each
// channel by itself.
bool trains_normalization(const Node& node);
bool normalizes_channels(const Node& node);

// Whether a convolution of x by w is one of planes with a channel of x and of y for each group.
bool is_depthwise(const NodeView& conv, const Type& x, const Type& w);
// Whether a convolution by w is one of planes by windows of one element, with stride 1, no padding
// and one group.
bool is_pointwise(const NodeView& conv, const Type& w);
// Whether every number of an attribute, if there is any, is this one.
bool all_are(const NodeView& node, std::string_view attribute, std::int64_t value);

// Whether a BatchNormalizationActivation uses the statistics of the batch and has no addend: what
// a convolution of its result can do itself.
bool is_taken_by_convolution(const Node& norm);
// Makes a convolution of the result of such a normalization one operator with it: (x, scale, bias,
// mean, variance, w), with the outputs of the normalization after y.
void take_normalization(Node& conv, const Node& norm, const OpDef& fused);

// Whether a node after `from` and before `to` reads an output of `from`, from number `first` on.
// Both are nodes of one graph.
bool is_read_between(const Node& from, const Node& to, std::size_t first);

// Whether both are tensors of the same dtype and shape; symbolic dims are equal by name.
bool same_tensor_type(const Graph& graph, ValueId a, ValueId b);
bool is_full_float(const Graph& graph, ValueId id);  // float32 or float64; an omitted output is not

// Calls fuse(node, uses) for each node of the graph. `fuse` returns whether it rewrote the node.
template <class Fuse>
bool fuse_nodes(Graph& graph, Fuse fuse) {
  bool changed = false;
  const Uses uses(graph);
  for (Node& node : graph.nodes) changed = fuse(node, uses) || changed;
  return changed;
}

// `fuse(node, uses, before)` may append nodes that are to stand before the node.
template <class Fuse>
bool fuse_inserting(Graph& graph, Fuse fuse) {
  std::vector<Insertion> insertions;
  const bool changed = fuse_nodes(graph, [&](Node& node, const Uses& uses) {
    Insertion before{static_cast<std::size_t>(&node - graph.nodes.data()), {}};
    const bool fused = fuse(node, uses, before.nodes);
    if (!before.nodes.empty()) insertions.push_back(std::move(before));
    return fused;
  });
  insert_nodes(graph, std::move(insertions));
  return changed;
}

}  // namespace ondine::graph
