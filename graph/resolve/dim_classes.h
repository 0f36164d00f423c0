// Dimension variables of a resolved graph: which of them are the same, and which have one size in
// every call.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::graph {

// "A dimension variable represents the same value across the entire graph": where a value that is
// declared with one variable is inferred to have another, or a size, these are the same.
struct DimClasses {
  std::vector<std::uint32_t> representatives;  // by symbol; symbols beyond stand for themselves
  std::vector<std::int64_t> sizes;             // by representative; -1 where no size is known

  std::uint32_t representative(std::uint32_t symbol) const noexcept {
    return symbol < representatives.size() ? representatives[symbol] : symbol;
  }
  std::int64_t size(std::uint32_t symbol) const noexcept {
    return symbol < sizes.size() ? sizes[representative(symbol)] : -1;
  }
};

// From the values of the graph and of its subgraphs other than branches. Throws
// Error(invalid_model) naming the value that gives a variable a second size.
DimClasses dim_classes(const Graph& graph);

// Leaves no dims in the declared types of values that are not inputs, for graphs that were resolved
// with ResolveContext::warn: neither rewriting nor a run compares with what is not trusted.
void forget_declared_dims(Graph& graph);

}  // namespace ondine::graph
