// The forms that a value stored as bfloat16 has in a list of nodes that is being rebuilt.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/ir/graph.h"
#include "trainer/plan/place/static_bind.h"

namespace ondine::trainer {

// Values that nodes read rounded where they accept that, and otherwise widened by a Cast before the
// first that does not. Views of them are made anew, of either form, where they are read.
class RoundedValues {
 public:
  // New nodes go to the end of `nodes`. All must outlive it.
  RoundedValues(graph::Graph& graph, std::vector<graph::Node>& nodes, const BindOptions& options)
      : graph_(graph), nodes_(nodes), options_(options) {}

  // The elements of `value` are those of `rounded`, which is there already.
  void add(graph::ValueId value, graph::ValueId rounded) { forms_[value].rounded = rounded; }
  // The node's output is a view of a value that was added.
  void add_view(graph::Node view);
  bool contains(graph::ValueId value) const { return forms_.contains(value); }
  // A new value of the same shape.
  graph::ValueId copy_of(graph::ValueId id, std::string_view suffix, DType dtype);

  // Lets the node read the values in the forms that it accepts.
  void rewrite(graph::Node& node);

 private:
  struct Forms {
    graph::ValueId rounded = graph::no_value;
    graph::ValueId wide = graph::no_value;
    std::optional<graph::Node> view;  // which makes it of its first input
  };
  graph::ValueId rounded(graph::ValueId id);
  graph::ValueId wide(graph::ValueId id);
  graph::ValueId push_view(const graph::Node& view, graph::ValueId of, std::string_view suffix);

  graph::Graph& graph_;
  std::vector<graph::Node>& nodes_;
  BindOptions options_;
  std::unordered_map<graph::ValueId, Forms> forms_;
};

}  // namespace ondine::trainer
