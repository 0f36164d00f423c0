// A node whose results are to be tracked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.h"
#include "graph/training/prepare/privacy/rows.h"

namespace ondine::graph {

using Entry = Tracked::Entry;
using Kind = Tracked::Kind;

inline std::vector<std::int64_t> integers_of(const NodeDef& node, std::string_view name) {
  const Attribute* found = find(node.attributes, name);
  const auto* list =
      found == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->data);
  return list == nullptr ? std::vector<std::int64_t>() : *list;
}

inline bool depends_on_batch(const Entry& one) {
  return one.kind == Entry::Kind::batch || one.kind == Entry::Kind::sizes;
}

struct NodeStep {
  const RowTracker& tracker;
  const NodeDef& node;

  const std::string& input(std::size_t i) const {
    static const std::string none;
    return i < node.inputs.size() ? node.inputs[i] : none;
  }
  const Tracked& at(std::size_t i) const { return tracker.of(input(i)); }
  bool has_rows(std::size_t i) const { return at(i).kind == Kind::rows; }
  std::size_t rank(std::size_t i) const { return tracker.rank(node, input(i)); }
  std::size_t out_rank() const { return tracker.rank(node, node.outputs.at(0)); }

  [[noreturn]] void refuse(std::string_view why = "mixes, or may mix, rows of the batch") const {
    fail(ErrorCode::unsupported, described(node), " ", why,
         ", so that gradients of single examples cannot be bounded (training with privacy)");
  }

  std::int64_t positive(std::int64_t axis, std::size_t of_rank) const {
    return axis < 0 ? axis + static_cast<std::int64_t>(of_rank) : axis;
  }

  // Elements of a constant or known vector.
  std::optional<std::vector<Entry>> entries(std::size_t i) const {
    if (at(i).entries) return at(i).entries;
    const auto found = constant_integers(tracker.graph(), input(i));
    if (!found) return std::nullopt;
    std::vector<Entry> result;
    for (const std::int64_t one : *found) result.push_back({Entry::Kind::number, one});
    return result;
  }
  std::optional<std::vector<std::int64_t>> numbers(std::size_t i) const {
    const auto found = entries(i);
    if (!found) return std::nullopt;
    std::vector<std::int64_t> result;
    for (const Entry& one : *found) {
      if (one.kind != Entry::Kind::number) return std::nullopt;
      result.push_back(one.value);
    }
    return result;
  }

  // The axes of a node that has them as an attribute, or as input `i`.
  std::optional<std::vector<std::int64_t>> axes(std::size_t i) const {
    if (!input(i).empty()) return numbers(i);
    return integers_of(node, "axes");
  }
};

// Results of a node for rows, for sizes, and for inputs that are the same for every batch. Throw
// Error(unsupported) as RowTracker::follow().
Tracked follow_rows(const NodeStep& step);
Tracked follow_sizes(const NodeStep& step);
Tracked follow_fixed(const NodeStep& step);
// Whether an operator moves elements and gives each of them at most once.
bool only_moves_once(std::string_view op) noexcept;

}  // namespace ondine::graph
