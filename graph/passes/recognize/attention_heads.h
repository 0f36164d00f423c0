// The second half of recognize_attention: operands and results that are only transposed are read
// and written as they lie, with the heads beside each other.
#pragma once

#include <vector>

#include "graph/passes/fuse.h"

namespace ondine::graph {

// Appends a node of `op` with one output to `nodes` and returns that.
ValueId append_node(Graph& graph, std::vector<Node>& nodes, const OpDef& op, std::int64_t version,
                    std::vector<ValueId> inputs, Attributes attributes = {});

// Appends a Split into `count` equal parts and returns its outputs.
std::vector<ValueId> append_split(Graph& graph, std::vector<Node>& nodes, const OpDef& op,
                                  ValueId value, std::int64_t axis, std::int64_t count);
// A new constant.
ValueId add_constant(Graph& graph, Tensor tensor);

// Attributes of a ScaledAttention that do not depend on the layout of its operands, and `more`.
Attributes attention_attributes(const Node& attention, Attributes more = {});

bool is_transpose(const Node& node, const std::vector<std::int64_t>& perm);

// Views with a given shape.
class Reshaper {
 public:
  Reshaper(Graph& graph, const Catalogue& catalogue);

  explicit operator bool() const noexcept { return op_ != nullptr; }
  // `value` itself where it has these dims. One dim may be unknown or symbolic, and more that
  // `value` has at the same place; no_value where there are others.
  ValueId view(ValueId value, const Dims& dims, std::vector<Node>& nodes) const;
  // Turns `node` into a view of `value` with the dims of its output.
  void make_view(Node& node, ValueId value) const;

 private:
  ValueId constant(const std::vector<std::int64_t>& sizes) const;

  Graph* graph_;
  const OpDef* op_;
};

// How many Shape nodes read each value. They need not keep it: what is replaced here has the shapes
// of what replaces it.
std::vector<int> count_shape_readers(const Graph& graph);

bool interleave_heads(Graph& graph, const PassContext& context);

}  // namespace ondine::graph
