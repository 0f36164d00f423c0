// Values that a language model computes from the number of tokens alone: masks, positions, tables
// of angles.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <ondine/limits.h>

#include "graph/ir/graph.h"

namespace ondine::text {

// The inputs of a graph that reads one text.
struct TextInputs {
  graph::ValueId ids = graph::no_value;
  std::optional<graph::ValueId> mask;       // 1 for each token
  std::optional<graph::ValueId> positions;  // 0, 1, ..
};

class LengthValues {
 public:
  // `graph` must outlive it. `longest`: the text that tables are for.
  LengthValues(const graph::Graph& graph, const TextInputs& inputs, std::int64_t longest,
               const Limits& limits)
      : graph_(&graph), inputs_(inputs), longest_(longest), limits_(limits) {}

  std::int64_t longest() const noexcept { return longest_; }

  // The graph for a text of so many tokens: types of all values, and elements of small ones that
  // depend on nothing but the length.
  graph::Graph typed(std::int64_t length, std::span<const graph::ValueId> outputs) const;
  // Values that no token decides.
  std::vector<Tensor> at(std::int64_t length, std::span<const graph::ValueId> values) const;
  // The value for the longest text; computed on first use and kept.
  const Tensor& table(graph::ValueId value);

 private:
  const graph::Graph* graph_;
  TextInputs inputs_;
  std::int64_t longest_;
  Limits limits_;
  std::map<graph::ValueId, Tensor> tables_;
};

// Whether the places below `length` of each of the axes of `table` have the elements of `part`.
bool is_beginning(const Tensor& part, const Tensor& table, std::span<const std::size_t> axes);

}  // namespace ondine::text
