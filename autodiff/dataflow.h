// Which nodes make and read the values of a graph that grows while it is differentiated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/stop.h"
#include "graph/ir/graph.h"

namespace ondine::autodiff {

// A search visits only what may lie between two sets of values, however large the graph is.
class Dataflow {
 public:
  explicit Dataflow(const graph::Graph& graph) : graph_(&graph) {}

  // To be called when outputs were added to a node that was there before.
  void refresh(std::size_t position);

  // The positions, in order, of the nodes on which `ys` depend by inputs that `follows(node, i)`
  // accepts and that are not `is_leaf`, as far back as the first node that reads one of `xs`.
  template <class IsLeaf, class Follows>
  std::vector<std::size_t> between(std::span<const graph::ValueId> xs,
                                   std::span<const graph::ValueId> ys, const IsLeaf& is_leaf,
                                   const Follows& follows) {
    extend();
    const std::size_t first = first_reader(xs);
    std::vector<std::size_t> found;
    const auto visit = [&](graph::ValueId id) {
      if (id == graph::no_value || is_leaf(id)) return;
      const std::uint32_t maker = maker_of(id);
      if (maker == none || maker < first || visited_[maker] == search_) return;
      visited_[maker] = search_;
      found.push_back(maker);
    };
    ++search_;
    for (const graph::ValueId y : ys) visit(y);
    for (std::size_t next = 0; next < found.size(); ++next) {
      const graph::Node& node = graph_->nodes[found[next]];
      const auto inputs = node.all_inputs();
      checkpoint(64);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] != graph::no_value && follows(node, i)) visit(inputs[i]);
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  void extend();
  std::uint32_t maker_of(graph::ValueId id) const {
    const auto index = static_cast<std::size_t>(id);
    return index < maker_.size() ? maker_[index] : none;
  }
  std::size_t first_reader(std::span<const graph::ValueId> xs) const;

  const graph::Graph* graph_;
  // Maker and first reader of each value, indexed by value id; `none` where there is none.
  std::vector<std::uint32_t> maker_, first_reader_;
  std::vector<std::uint32_t> visited_;  // by node: the last search that found it
  std::uint32_t search_ = 0;
};

}  // namespace ondine::autodiff
