#include "trainer/plan/place/shared_kernels.h"

#include <algorithm>
#include <functional>

#include "graph/passes/same_attributes.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// Larger constants are not compared.
constexpr std::size_t small_constant = 256;

void add(std::size_t& hash, std::size_t part) { hash = hash * 31 + part; }

std::size_t hash_of(const Node& node, const Graph& graph) {
  std::size_t hash = std::hash<const void*>()(node.op);
  add(hash, static_cast<std::size_t>(node.version));
  add(hash, graph::hash_of(node.attributes));
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    add(hash, ids->size());
    for (const ValueId id : *ids) {
      if (id == no_value) continue;
      const Type& type = graph[id].type;
      add(hash, static_cast<std::size_t>(type.dtype));
      for (const Dim dim : *type.dims) add(hash, static_cast<std::size_t>(dim.size()));
    }
  }
  return hash;
}

bool same_constant(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.bytes() <= small_constant && a.identical(b);
}

bool same_value(ValueId a, ValueId b, const Graph& graph) {
  if (a == b) return true;
  if (a == no_value || b == no_value) return false;
  return graph[a].type == graph[b].type && same_constant(graph[a].constant, graph[b].constant);
}

bool binds_alike(const Node& a, const Node& b, const Graph& graph) {
  const auto same = [&](ValueId x, ValueId y) { return same_value(x, y, graph); };
  return a.op == b.op && a.version == b.version && std::ranges::equal(a.inputs, b.inputs, same) &&
         std::ranges::equal(a.outputs, b.outputs, same) &&
         same_attributes(a.attributes, b.attributes);
}

}  // namespace

std::optional<std::uint32_t> SharedKernels::kernel_of(const std::shared_ptr<const Node>& node,
                                                      const Graph& graph,
                                                      const BindOptions& options) {
  const std::size_t hash = hash_of(*node, graph);
  const auto [first, last] = by_hash_.equal_range(hash);
  const auto known = std::find_if(first, last, [&](const auto& entry) {
    return binds_alike(*kernels_[entry.second].node, *node, graph);
  });
  if (known != last) return known->second;
  const auto bound = bind_static(*node, graph, options);
  if (!bound) return std::nullopt;
  const auto kernel = static_cast<std::uint32_t>(kernels_.size());
  kernels_.push_back({node, bound->workspace_bytes, bound->implementation});
  by_hash_.emplace(hash, kernel);
  return kernel;
}

}  // namespace ondine::trainer
