#include "graph/passes/recognize/attention_operator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "graph/passes/fuse.h"
#include "graph/passes/recognize/attention_heads.h"

namespace ondine::graph {
namespace {

constexpr std::size_t mask_input = 3;
// A larger causal mask is left to the expansion.
constexpr std::int64_t max_mask_elements = std::int64_t{1} << 20;

// Causal masks, which nodes share.
using Masks = std::map<std::pair<DType, std::pair<std::int64_t, std::int64_t>>, ValueId>;

template <class T>
Tensor causal_mask(std::int64_t queries, std::int64_t keys) {
  Tensor mask(dtype_of<T>, {queries, keys});
  const auto values = mask.mutable_values<T>();
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    if (i % keys > i / keys) {
      values[static_cast<std::size_t>(i)] = -std::numeric_limits<T>::infinity();
    }
  }
  return mask;
}

class Reader {
 public:
  Reader(Graph& graph, const OpDef& attention, const Uses& uses, Masks& masks)
      : graph_(graph), attention_(attention), uses_(uses), masks_(masks) {}

  bool operator()(Node& node) const {
    const NodeView view(node);
    if (!is_plain(view) || !is_full_float(graph_, node.outputs[0])) return false;
    const Type& q = graph_[node.inputs[0]].type;
    const Type& k = graph_[node.inputs[1]].type;
    const Type& v = graph_[node.inputs[2]].type;
    for (const Type* type : {&k, &v}) {
      if (!type->ranked() || type->rank() != 4 || type->dtype != q.dtype) return false;
    }
    if (!q.ranked() || q.rank() != 4) return false;
    for (const std::size_t i : {0, 1}) {
      if (!(*k.dims)[i].same((*v.dims)[i])) return false;
    }
    if (!(*q.dims)[0].same((*k.dims)[0]) || !shares_heads((*q.dims)[1], (*k.dims)[1])) return false;
    const std::optional<double> scale = scale_of(view, (*q.dims)[3]);
    if (!scale || (view.has_attr("softmax_precision") && precision_of(view) != q.dtype)) {
      return false;
    }
    std::vector<ValueId> inputs(node.inputs.begin(), node.inputs.begin() + mask_input);
    const std::optional<ValueId> mask = mask_of(view, q, v);
    if (!mask) return false;
    if (*mask != no_value) inputs.push_back(*mask);
    node.op = &attention_;
    node.version = 1;
    node.inputs = std::move(inputs);
    node.outputs.resize(1);
    const float cap = view.attr_float("softcap", 0);
    node.attributes = {{"scale", static_cast<float>(*scale)}, {"zero_rows", std::int64_t{1}}};
    if (cap > 0) node.attributes.emplace_back("softcap", cap);
    return true;
  }

 private:
  // Without what ScaledAttention does not know.
  static bool is_plain(const NodeView& node) {
    for (std::size_t i = mask_input + 1; i < node.node().inputs.size(); ++i) {
      if (node.has_input(i)) return false;
    }
    for (std::size_t i = 1; i < node.node().outputs.size(); ++i) {
      if (node.has_output(i)) return false;
    }
    return node.attr_int("left_window_size", -1) < 0 && node.attr_int("right_window_size", -1) < 0;
  }
  // Whether there is a head of keys for each or for so many heads of queries.
  static bool shares_heads(Dim queries, Dim keys) {
    if (queries.same(keys)) return true;
    return queries.known() && keys.known() && keys.size() > 0 &&
           queries.size() % keys.size() == 0 && queries.size() > 0;
  }
  static DType precision_of(const NodeView& node) {
    return static_cast<DType>(node.attr_int("softmax_precision", 0));
  }
  static std::optional<double> scale_of(const NodeView& node, Dim size) {
    if (node.has_attr("scale")) return double{node.attr_float("scale", 1)};
    if (!size.known() || size.size() == 0) return std::nullopt;
    return 1 / std::sqrt(static_cast<double>(size.size()));
  }

  // no_value where there is none; nothing where it is another.
  std::optional<ValueId> mask_of(const NodeView& node, const Type& q, const Type& v) const {
    const Dim queries = (*q.dims)[2];
    const Dim keys = (*v.dims)[2];
    const bool causal = node.attr_int("is_causal", 0) != 0;
    if (!node.has_input(mask_input)) {
      return causal ? causal_mask_of(q.dtype, queries, keys) : std::optional(no_value);
    }
    const ValueId id = node.node().inputs[mask_input];
    const Tensor mask = uses_.constant(id);
    if (causal || !mask.defined() || mask.dtype() != q.dtype) return std::nullopt;
    const std::size_t rank = mask.shape().rank();
    if (rank == 0 || rank > 4 || mask.size() == 0 || !keys.same(mask.shape().back())) {
      return std::nullopt;
    }
    for (std::size_t i = 1; i < rank; ++i) {
      const std::int64_t size = mask.shape()[rank - 1 - i];
      if (size != 1 && !(*q.dims)[3 - i].same(size)) return std::nullopt;
    }
    return id;
  }

  std::optional<ValueId> causal_mask_of(DType dtype, Dim queries, Dim keys) const {
    if (!queries.known() || !keys.known() || queries.size() == 0 || keys.size() == 0 ||
        queries.size() > max_mask_elements / keys.size()) {
      return std::nullopt;
    }
    ValueId& mask =
        masks_.try_emplace({dtype, {queries.size(), keys.size()}}, no_value).first->second;
    if (mask == no_value) {
      mask = add_constant(graph_, dtype == DType::float32
                                      ? causal_mask<float>(queries.size(), keys.size())
                                      : causal_mask<double>(queries.size(), keys.size()));
    }
    return mask;
  }

  Graph& graph_;
  const OpDef& attention_;
  const Uses& uses_;
  Masks& masks_;
};

}  // namespace

bool read_attention_operators(Graph& graph, const PassContext& context) {
  const OpDef* attention = context.catalogue->find(ondine_domain, "ScaledAttention");
  if (attention == nullptr) return false;
  Masks masks;
  return fuse_nodes(graph, [&](Node& node, const Uses& uses) {
    return node.op->name == "Attention" && node.op->domain.empty() &&
           Reader(graph, *attention, uses, masks)(node);
  });
}

}  // namespace ondine::graph
