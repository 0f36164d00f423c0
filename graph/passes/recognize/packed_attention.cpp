#include "graph/passes/recognize/packed_attention.h"

#include <array>
#include <unordered_map>

#include "graph/contract/infer.h"
#include "graph/passes/fuse.h"
#include "graph/passes/recognize/attention_heads.h"

namespace ondine::graph {
namespace {

// A part of a value that is split into three.
struct Part {
  std::size_t split = 0;  // the position of that node
  std::size_t index = 0;
};
using Parts = std::unordered_map<ValueId, Part>;

Parts find_parts(const Graph& graph) {
  Parts parts;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op->name != "Split" || !node.op->domain.empty() || node.outputs.size() != 3) continue;
    for (std::size_t k = 0; k < 3; ++k) parts[node.outputs[k]] = {i, k};
  }
  return parts;
}

// The product of the dims from `first` on, if they are known.
Dim elements_from(const Dims& dims, std::size_t first) {
  Dim product(1);
  for (std::size_t i = first; i < dims.size(); ++i) {
    if (!dims[i].known()) return {};
    product = multiply(product, dims[i]);
  }
  return product;
}

class Packer {
 public:
  Packer(Graph& graph, const Catalogue& catalogue, const Uses& uses, const Parts& parts)
      : graph_(graph),
        uses_(uses),
        parts_(parts),
        packed_(catalogue.find(ondine_domain, "PackedAttention")),
        reshape_(graph, catalogue) {}

  bool fuse(Node& node, std::vector<Node>& before) const {
    if (packed_ == nullptr || !reshape_) return false;
    const std::optional<std::size_t> split = split_of(node);
    if (!split) return false;
    Dims dims = *graph_[node.inputs[0]].type.dims;
    dims.insert(dims.end() - 2, Dim(3));
    const ValueId whole = reshape_.view(graph_.nodes[*split].inputs[0], dims, before);
    if (whole == no_value) return false;
    std::vector<ValueId> inputs{whole};
    inputs.insert(inputs.end(), node.inputs.begin() + 3, node.inputs.end());
    node.attributes = attention_attributes(node);
    node.op = packed_;
    node.version = 1;
    node.inputs = std::move(inputs);
    return true;
  }

 private:
  // The node that q, k and v, of equal shapes, are the parts of, in this order.
  std::optional<std::size_t> split_of(const Node& attention) const {
    std::array<Part, 3> of{};
    for (std::size_t i = 0; i < of.size(); ++i) {
      const Part* part = part_of(attention.inputs[i]);
      if (part == nullptr || part->index != i || part->split != (i > 0 ? of[0].split : part->split))
        return std::nullopt;
      if (!same_tensor_type(graph_, attention.inputs[0], attention.inputs[i])) return std::nullopt;
      of[i] = *part;
    }
    return of[0].split;
  }

  // The part that only the shape was changed of, if nothing else reads it and its heads and sizes
  // are all that the parts have after each other.
  const Part* part_of(ValueId value) const {
    const Dims& dims = *graph_[value].type.dims;
    ValueId of = value;
    for (const Node* view = viewed(of); view != nullptr; view = viewed(of)) of = view->inputs[0];
    const auto found = parts_.find(of);
    if (found == parts_.end() || uses_.readers(of) != 1 || uses_.is_named(of)) return nullptr;
    const Node& split = graph_.nodes[found->second.split];
    const Type& type = graph_[of].type;
    if (!type.ranked()) return nullptr;
    const auto axis =
        NodeView::normalize_axis(NodeView(split).attr_int("axis", 0), type.dims->size());
    return elements_from(*type.dims, axis).same(elements_from(dims, dims.size() - 2))
               ? &found->second
               : nullptr;
  }
  const Node* viewed(ValueId id) const {
    for (const char* op : {"Reshape", "Squeeze"}) {
      if (const Node* node = uses_.producer_for(id, 1, op)) return node;
    }
    return nullptr;
  }

  Graph& graph_;
  const Uses& uses_;
  const Parts& parts_;
  const OpDef* packed_;
  Reshaper reshape_;
};

}  // namespace

bool pack_operands(Graph& graph, const PassContext& context) {
  // Nodes that earlier steps replaced would count as readers of the parts.
  drop_dead_nodes(graph);
  const Parts parts = find_parts(graph);
  return fuse_inserting(graph, [&](Node& node, const Uses& uses, std::vector<Node>& before) {
    return node.op->name == "ScaledAttention" && node.op->domain == ondine_domain &&
           NodeView(node).attr_int("interleaved", 0) != 0 &&
           Packer(graph, *context.catalogue, uses, parts).fuse(node, before);
  });
}

}  // namespace ondine::graph
