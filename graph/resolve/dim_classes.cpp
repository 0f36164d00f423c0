#include "graph/resolve/dim_classes.h"

#include <numeric>

#include "core/message.h"
#include "graph/ir/declared_type.h"

namespace ondine::graph {
namespace {

// Only one branch runs: what holds in the other says nothing of a call.
bool is_branch(const Subgraph& subgraph) {
  return subgraph.attribute == "then_branch" || subgraph.attribute == "else_branch";
}

class Classes {
 public:
  explicit Classes(const Symbols& symbols)
      : symbols_(symbols), parents_(symbols.names.size()), sizes_(symbols.names.size(), -1) {
    std::iota(parents_.begin(), parents_.end(), 0U);
  }

  void add(const Graph& graph) {
    for (const GraphValue& value : graph.values) add(value.name, value.declared, value.type);
    for (const Node& node : graph.nodes) {
      for (const Subgraph& subgraph : node.subgraphs) {
        if (!is_branch(subgraph)) add(*subgraph.graph);
      }
    }
  }

  DimClasses take() {
    DimClasses out;
    for (std::uint32_t i = 0; i < parents_.size(); ++i) out.representatives.push_back(root(i));
    out.sizes = std::move(sizes_);
    return out;
  }

 private:
  std::uint32_t root(std::uint32_t symbol) {
    while (parents_[symbol] != symbol) symbol = parents_[symbol] = parents_[parents_[symbol]];
    return symbol;
  }

  void add(const std::string& name, const Type& declared, const Type& type) {
    const bool optional = declared.kind == TypeKind::optional && declared.element && type.element;
    if (optional) return add(name, *declared.element, *type.element);
    if (!declared.dims || !type.dims || declared.dims->size() != type.dims->size()) return;
    for (std::size_t axis = 0; axis < declared.dims->size(); ++axis) {
      const Dim said = (*declared.dims)[axis];
      const Dim found = (*type.dims)[axis];
      if (!said.is_symbolic()) continue;
      if (found.known()) set(name, said.symbol(), found.size());
      // A clipped dim has no name, so no symbol of the model.
      const bool named = found.is_symbolic() && found.symbol() < parents_.size();
      if (named) join(name, said.symbol(), found.symbol());
    }
  }

  void set(const std::string& name, std::uint32_t symbol, std::int64_t size) {
    std::int64_t& known = sizes_[root(symbol)];
    if (known >= 0 && known != size) reject(name, symbol, size, known);
    known = size;
  }

  void join(const std::string& name, std::uint32_t first, std::uint32_t second) {
    const std::uint32_t from = root(first);
    const std::uint32_t to = root(second);
    if (from == to) return;
    if (sizes_[from] >= 0) set(name, second, sizes_[from]);
    parents_[from] = to;
  }

  [[noreturn]] void reject(const std::string& name, std::uint32_t symbol, std::int64_t size,
                           std::int64_t known) const {
    fail(ErrorCode::invalid_model, "value ", quoted(name), " has ", size, " for dim ",
         quoted(symbols_.names[symbol]), ", which is ", known, " elsewhere in the model");
  }

  const Symbols& symbols_;
  std::vector<std::uint32_t> parents_;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

DimClasses dim_classes(const Graph& graph) {
  Classes classes(*graph.symbols);
  classes.add(graph);
  return classes.take();
}

void forget_declared_dims(Graph& graph) {
  std::vector<bool> is_input(graph.values.size());
  for (const ValueId input : graph.inputs) is_input[static_cast<std::size_t>(input)] = true;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    GraphValue& value = graph.values[i];
    if (is_input[i] || value.declared->kind == TypeKind::unknown) continue;
    value.declared = without_dims(value.declared);
    if (value.type.is_tensor() && value.type.ranked()) {
      value.declared.edit().dims.emplace(value.type.rank());
    }
  }
  for (Node& node : graph.nodes) {
    for (Subgraph& subgraph : node.subgraphs) {
      Graph inner = *subgraph.graph;
      forget_declared_dims(inner);
      subgraph.graph = std::make_shared<const Graph>(std::move(inner));
    }
  }
}

}  // namespace ondine::graph
