// ScaledAttention to the keys and values of a cache, an input, and to new ones becomes
// CachedAttention, which reads both where they lie.
#include <algorithm>
#include <array>
#include <optional>

#include "graph/contract/infer.h"
#include "graph/passes/fuse.h"
#include "graph/passes/recognize/attention_heads.h"

namespace ondine::graph {
namespace {

// Keys or values: rows of an input, then others. With `rows_first` they lie as samples, rows,
// heads, size.
struct Parts {
  ValueId past = no_value, fresh = no_value;
  bool rows_first = false;
  Dim heads, size;
};

class Splitter {
 public:
  Splitter(Graph& graph, const Catalogue& catalogue, const Uses& uses)
      : graph_(graph),
        uses_(uses),
        cached_(catalogue.find(ondine_domain, "CachedAttention")),
        reshape_(graph, catalogue) {}

  bool fuse(Node& node, std::vector<Node>& before) const {
    if (cached_ == nullptr || !reshape_ || !is_plain(node)) return false;
    const bool beside = NodeView(node).attr_int("interleaved", 0) != 0;
    const auto k = parts_of(node.inputs[1], beside);
    const auto v = parts_of(node.inputs[2], beside);
    if (!k || !v || k->rows_first != v->rows_first) return false;
    const Dim queries = (*graph_[node.inputs[0]].type.dims)[beside ? 1 : 2];
    std::vector<ValueId> inputs{node.inputs[0]};
    for (const Parts& parts : {*k, *v}) {
      if (!rows_of(parts.fresh, parts).same(queries)) return false;
      for (const ValueId part : {parts.past, parts.fresh}) {
        inputs.push_back(in_heads(part, parts, before));
        if (inputs.back() == no_value) return false;
      }
    }
    inputs.insert(inputs.end(), node.inputs.begin() + 3, node.inputs.end());
    node.attributes = attention_attributes(
        node, {{"interleaved", std::int64_t{beside}}, {"rows_first", std::int64_t{k->rows_first}}});
    node.op = cached_;
    node.version = 1;
    node.inputs = std::move(inputs);
    return true;
  }

 private:
  bool is_plain(const Node& node) const {
    const Type& q = graph_[node.inputs[0]].type;
    return q.ranked() && q.rank() == 4 && q.dtype == DType::float32 &&
           NodeView(node).attr_int("transK", 0) == 0;
  }

  const Node* producer(ValueId id, std::string_view op, std::string_view domain = {}) const {
    return uses_.producer_for(id, uses_.readers(id), op, domain);
  }

  Dim rows_of(ValueId id, const Parts& parts) const {
    const Type& type = graph_[id].type;
    return (*type.dims)[parts.rows_first ? 1 : 2];
  }

  // The two parts of k or v of an attention. `beside`: it is samples, rows, heads, size.
  std::optional<Parts> parts_of(ValueId value, bool beside) const {
    while (const Node* checked = producer(value, "RequireDims", ondine_domain)) {
      value = checked->inputs[0];
    }
    bool rows_first = beside;
    const Node* turned = beside ? nullptr : producer(value, "Transpose");
    if (turned != nullptr) {
      if (!is_transpose(*turned, {0, 2, 1, 3})) return std::nullopt;
      rows_first = true;
      value = turned->inputs[0];
    }
    const Type& type = graph_[value].type;
    if (!type.ranked() || type.rank() != 4) return std::nullopt;
    const Dim heads = (*type.dims)[rows_first ? 2 : 1], size = (*type.dims)[3];
    if (rows_first) value = without_heads(value);
    return joined(value, {no_value, no_value, rows_first, heads, size});
  }

  // Samples, rows and features of which `value` has the features as heads, or `value` itself.
  ValueId without_heads(ValueId value) const {
    const Node* view = producer(value, "Reshape");
    if (view == nullptr) return value;
    const Type& from = graph_[view->inputs[0]].type;
    const Dims& dims = *graph_[value].type.dims;
    if (!from.ranked() || from.rank() != 3 || !(*from.dims)[0].same(dims[0])) return value;
    const bool known = dims[2].known() && dims[3].known();
    return known && multiply(dims[2], dims[3]).same((*from.dims)[2]) ? view->inputs[0] : value;
  }

  std::optional<Parts> joined(ValueId value, Parts parts) const {
    const Node* node = producer(value, "Concat");
    if (node == nullptr || node->inputs.size() != 2) return std::nullopt;
    const std::array<ValueId, 2> of{node->inputs[0], node->inputs[1]};
    if (std::ranges::find(graph_.inputs, of[0]) == graph_.inputs.end()) return std::nullopt;
    const Type& type = graph_[value].type;
    for (const ValueId part : of) {
      const Type& own = graph_[part].type;
      if (!own.ranked() || !type.ranked() || own.rank() != type.rank()) return std::nullopt;
    }
    const std::int64_t axis = NodeView(*node).attr_int("axis", 0);
    const std::size_t rows = parts.rows_first ? 1 : 2;
    if (NodeView::normalize_axis(axis, type.rank()) != rows) return std::nullopt;
    parts.past = of[0];
    parts.fresh = of[1];
    return parts;
  }

  // The part with four dims.
  ValueId in_heads(ValueId part, const Parts& parts, std::vector<Node>& before) const {
    const Dims& dims = *graph_[part].type.dims;
    if (dims.size() == 4) return part;
    return reshape_.view(part, Dims{dims[0], dims[1], parts.heads, parts.size}, before);
  }

  Graph& graph_;
  const Uses& uses_;
  const OpDef* cached_;
  Reshaper reshape_;
};

bool run(Graph& graph, const PassContext& context) {
  const auto differs = [](const Node& node) { return node.op->name == "Gradient"; };
  if (context.catalogue == nullptr || std::ranges::any_of(graph.nodes, differs)) return false;
  return fuse_inserting(graph, [&](Node& node, const Uses& uses, std::vector<Node>& before) {
    return node.op->name == "ScaledAttention" && node.op->domain == ondine_domain &&
           Splitter(graph, *context.catalogue, uses).fuse(node, before);
  });
}

}  // namespace

const Pass split_cached_keys{"split_cached_keys", run};

}  // namespace ondine::graph
