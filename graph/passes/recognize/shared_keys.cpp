#include "graph/passes/recognize/shared_keys.h"

#include <algorithm>
#include <array>

#include "graph/contract/infer.h"
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

bool same_dims(std::span<const Dim> a, std::span<const Dim> b) {
  return std::ranges::equal(a, b, [](Dim x, Dim y) { return x.same(y); });
}

// Heads that are repeated, each so often.
struct Repeated {
  ValueId of = no_value;
  std::int64_t times = 1;
};

class Sharer {
 public:
  Sharer(const Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {}

  bool operator()(Node& node) const {
    if (node.op->name != "ScaledAttention" || node.op->domain != ondine_domain ||
        NodeView(node).attr_int("interleaved", 0) != 0) {
      return false;
    }
    const Repeated keys = repeated(node.inputs[1]);
    const Repeated values = repeated(node.inputs[2]);
    if (keys.times < 2 || keys.times != values.times) return false;
    const Dims* k = dims_of(keys.of);
    if (!same_dims(std::span(*k).first(2), std::span(*dims_of(values.of)).first(2))) return false;
    node.inputs[1] = keys.of;
    node.inputs[2] = values.of;
    return true;
  }

 private:
  const Dims* dims_of(ValueId id) const {
    const Type& type = graph_[id].type;
    return type.ranked() ? &*type.dims : nullptr;
  }
  const Node* producer(ValueId id, std::string_view op) const {
    return uses_.producer_for(id, uses_.readers(id), op);
  }

  // N, K, a, b seen as N, K, 1, a, b, expanded to N, K, times, a, b, and seen as N, K x times, a,
  // b.
  Repeated repeated(ValueId value) const {
    const Node* merged = producer(value, "Reshape");
    const Node* expand = merged != nullptr ? producer(merged->inputs[0], "Expand") : nullptr;
    if (expand == nullptr) return {};
    const Node* split = producer(expand->inputs[0], "Unsqueeze");
    if (split == nullptr) split = producer(expand->inputs[0], "Reshape");
    if (split == nullptr) return {};
    const Dims* whole = dims_of(value);
    const Dims* wide = dims_of(merged->inputs[0]);
    const Dims* narrow = dims_of(expand->inputs[0]);
    const Dims* own = dims_of(split->inputs[0]);
    if (whole == nullptr || wide == nullptr || narrow == nullptr || own == nullptr) return {};
    if (whole->size() != 4 || wide->size() != 5 || narrow->size() != 5 || own->size() != 4) {
      return {};
    }
    const Dim times = (*wide)[2];
    if (!times.known() || !(*own)[1].known()) return {};
    const Dims& d = *own;
    if (!same_dims(*narrow, std::array<Dim, 5>{d[0], d[1], Dim(1), d[2], d[3]}) ||
        !same_dims(*wide, std::array<Dim, 5>{d[0], d[1], times, d[2], d[3]}) ||
        !same_dims(*whole, std::array<Dim, 4>{d[0], multiply(d[1], times), d[2], d[3]})) {
      return {};
    }
    return {split->inputs[0], times.size()};
  }

  const Graph& graph_;
  const Uses& uses_;
};

}  // namespace

bool share_keys(Graph& graph) {
  return fuse_nodes(graph, [&](Node& node, const Uses& uses) { return Sharer(graph, uses)(node); });
}

}  // namespace ondine::graph
