#include "trainer/plan/schedule/lifetimes.h"

#include <algorithm>
#include <numeric>

#include "graph/contract/aliasing.h"
#include "trainer/plan/inputs.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

std::vector<bool> flags_of(std::span<const ValueId> ids, const Graph& graph) {
  std::vector<bool> flags(graph.values.size());
  for (const ValueId id : ids) flags[static_cast<std::size_t>(id)] = true;
  return flags;
}

Lifetimes::Lifetimes(const Graph& graph, const std::vector<bool>& outside)
    : graph_(&graph),
      root_(graph.values.size()),
      made_(graph.values.size(), none),
      begin_(graph.values.size() + 1) {
  std::iota(root_.begin(), root_.end(), ValueId{0});
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) add_outputs(graph.nodes[i], i);
  list_uses();
  find_peak(outside);
}

std::size_t Lifetimes::next_use(ValueId id, std::size_t position) const {
  const auto uses = uses_of(id);
  const auto next = std::upper_bound(uses.begin(), uses.end(), position);
  return next == uses.end() ? none : *next;
}

std::size_t Lifetimes::previous_use(ValueId id, std::size_t position) const {
  const auto uses = uses_of(id);
  const auto next = std::lower_bound(uses.begin(), uses.end(), position);
  return next == uses.begin() ? made(id) : *std::prev(next);
}

std::size_t Lifetimes::last_use(ValueId id) const {
  const auto uses = uses_of(id);
  return uses.empty() ? made(id) : uses.back();
}

bool Lifetimes::is_used_at(ValueId id, std::size_t position) const {
  const auto uses = uses_of(id);
  return made(id) == position || std::binary_search(uses.begin(), uses.end(), position);
}

void Lifetimes::add_outputs(const Node& node, std::size_t position) {
  const ValueId viewed = viewed_input(node);
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const ValueId id = node.outputs[k];
    if (id == no_value) continue;
    if (k == 0 && viewed != no_value) {
      root_[index(id)] = root(viewed);
    } else {
      made_[index(id)] = position;
    }
  }
}

void Lifetimes::list_uses() {
  const auto for_each_use = [this](const auto& visit) {
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      for_each_input(graph_->nodes[i], [&](ValueId id) { visit(index(root(id)), i); });
    }
    for (const ValueId id : graph_->outputs) visit(index(root(id)), graph_->nodes.size());
  };
  for_each_use([this](std::size_t value, std::size_t) { ++begin_[value + 1]; });
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  uses_.resize(begin_.back());
  std::vector<std::uint32_t> next = begin_;
  for_each_use([&](std::size_t value, std::size_t position) {
    uses_[next[value]++] = static_cast<std::uint32_t>(position);
  });
}

void Lifetimes::find_peak(const std::vector<bool>& outside) {
  std::vector<std::int64_t> change(graph_->nodes.size() + 2);
  for (std::size_t i = 0; i < graph_->values.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (made_[i] == none || outside[i]) continue;
    const auto bytes = static_cast<std::int64_t>(bytes_of((*graph_)[id].type));
    change[made_[i]] += bytes;
    change[last_use(id) + 1] -= bytes;
  }
  std::int64_t alive = 0;
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    alive += change[i];
    if (alive <= static_cast<std::int64_t>(peak_bytes_)) continue;
    peak_bytes_ = static_cast<std::uint64_t>(alive);
    peak_ = i;
  }
}

}  // namespace ondine::trainer
