// Lists of nodes, by value or by node, in little memory.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "trainer/plan/inputs.h"

namespace ondine::trainer {

// Nodes that read each value, once for each input.
class Readers {
 public:
  explicit Readers(const graph::Graph& graph) : begin_(graph.values.size() + 1) {
    for (const graph::Node& node : graph.nodes) {
      for_each_input(node, [&](graph::ValueId id) { ++begin_[index(id) + 1]; });
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    nodes_.resize(begin_.back());
    std::vector<std::uint32_t> next = begin_;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for_each_input(graph.nodes[i], [&](graph::ValueId id) {
        nodes_[next[index(id)]++] = static_cast<std::uint32_t>(i);
      });
    }
  }

  std::span<const std::uint32_t> of(graph::ValueId id) const {
    return std::span(nodes_).subspan(begin_[index(id)], begin_[index(id) + 1] - begin_[index(id)]);
  }

 private:
  static std::size_t index(graph::ValueId id) { return static_cast<std::size_t>(id); }

  std::vector<std::uint32_t> begin_;  // by value; one more than there are
  std::vector<std::uint32_t> nodes_;
};

// Edges between nodes: for each node a list of others, in the order in which they were added. Few
// nodes have any.
class Edges {
 public:
  explicit Edges(std::size_t nodes) : ends_(nodes) {}

  void add(std::size_t from, std::size_t to) {
    const auto link = static_cast<std::uint32_t>(links_.size());
    Ends& ends = ends_[from];
    (ends.first == none ? ends.first : links_[ends.last].next) = link;
    ends.last = link;
    links_.push_back({static_cast<std::uint32_t>(to), none});
  }

  template <class Visit>
  void for_each(std::size_t from, const Visit& visit) const {
    for (std::uint32_t link = ends_[from].first; link != none; link = links_[link].next) {
      visit(std::size_t{links_[link].to});
    }
  }

 private:
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);
  struct Ends {
    std::uint32_t first = none;
    std::uint32_t last = none;
  };
  struct Link {
    std::uint32_t to;
    std::uint32_t next;
  };

  std::vector<Ends> ends_;  // by node
  std::vector<Link> links_;
};

}  // namespace ondine::trainer
