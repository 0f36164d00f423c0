// When each value of an ordered graph is made and read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// A flag for each value of the graph, set for these.
std::vector<bool> flags_of(std::span<const graph::ValueId> ids, const graph::Graph& graph);

// Views count as what they show. Positions are those of nodes; the graph's outputs are read after
// the last one. The graph must outlive it.
class Lifetimes {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  // `outside` marks values that are not in the arena (one flag per value).
  Lifetimes(const graph::Graph& graph, const std::vector<bool>& outside);

  graph::ValueId root(graph::ValueId id) const { return root_[index(id)]; }
  // none for inputs and constants.
  std::size_t made(graph::ValueId id) const { return made_[index(id)]; }
  // The first use after `position`, or none.
  std::size_t next_use(graph::ValueId id, std::size_t position) const;
  // The last use before `position`, or where it is made.
  std::size_t previous_use(graph::ValueId id, std::size_t position) const;
  std::size_t last_use(graph::ValueId id) const;
  bool is_used_at(graph::ValueId id, std::size_t position) const;
  bool alive(graph::ValueId id, std::size_t position) const {
    return made(id) == none || last_use(id) >= position;
  }

  // Where most bytes of the arena are alive.
  std::size_t peak_position() const { return peak_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }

 private:
  static std::size_t index(graph::ValueId id) { return static_cast<std::size_t>(id); }
  std::span<const std::uint32_t> uses_of(graph::ValueId id) const {
    return std::span(uses_).subspan(begin_[index(id)], begin_[index(id) + 1] - begin_[index(id)]);
  }
  void add_outputs(const graph::Node& node, std::size_t position);
  void list_uses();
  void find_peak(const std::vector<bool>& outside);

  const graph::Graph* graph_;
  std::vector<graph::ValueId> root_;
  std::vector<std::size_t> made_;
  std::vector<std::uint32_t> begin_;  // by value, in uses_; one more than there are
  std::vector<std::uint32_t> uses_;   // positions, in order for each value
  std::size_t peak_ = 0;
  std::uint64_t peak_bytes_ = 0;
};

}  // namespace ondine::trainer
