// Integers computed from sizes of values, and what nodes make of parameters alone.
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/privacy/node_step.h"

namespace ondine::graph {
namespace {

struct SizeRules : NodeStep {
  // Integers computed from sizes.
  Tracked sizes() const {
    Tracked result;
    result.kind = Kind::sizes;
    const std::string_view op = node.op;
    if (one_of(op, {"ConstantOfShape", "Expand", "Tile", "Reshape", "Slice", "Resize"}) &&
        at(0).kind != Kind::sizes) {
      return {};  // only its dims depend on the batch
    }
    if (op == "ConstantOfShape") return {};
    if (op == "Cast") {
      const std::int64_t to = integer_attribute(node, "to", 0);
      const bool is_integer = to == static_cast<std::int64_t>(DType::int64) ||
                              to == static_cast<std::int64_t>(DType::int32);
      if (!is_integer && !is_known()) refuse("computes with the number of rows in the batch");
    }
    if (one_of(op, {"Cast", "Unsqueeze", "Squeeze", "Identity"})) result.entries = at(0).entries;
    if (op == "Gather") result.entries = gathered();
    if (op == "Concat") result.entries = concatenated();
    if (op == "Slice") result.entries = sliced();
    if (op == "Mul") result.entries = multiplied();
    if (result.entries &&
        std::none_of(result.entries->begin(), result.entries->end(), depends_on_batch)) {
      result.kind = Kind::fixed;
    }
    return result;
  }

  // Whether none of the sizes is that of the batch.
  bool is_known() const {
    const auto known = entries(0);
    return known && std::none_of(known->begin(), known->end(), depends_on_batch);
  }

  std::optional<std::vector<Entry>> gathered() const {
    const auto from = entries(0);
    const auto places = numbers(1);
    if (!from || !places) return std::nullopt;
    std::vector<Entry> result;
    for (const std::int64_t place : *places) {
      const std::int64_t index = positive(place, from->size());
      if (index < 0 || index >= static_cast<std::int64_t>(from->size())) return std::nullopt;
      result.push_back((*from)[static_cast<std::size_t>(index)]);
    }
    return result;
  }

  std::optional<std::vector<Entry>> concatenated() const {
    std::vector<Entry> result;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto part = entries(i);
      if (!part) return std::nullopt;
      result.insert(result.end(), part->begin(), part->end());
    }
    return result;
  }

  std::optional<std::vector<Entry>> sliced() const {
    const auto from = entries(0);
    const auto starts = numbers(1), ends = numbers(2);
    if (!from || !starts || !ends || starts->size() != 1 || !input(4).empty()) return std::nullopt;
    const auto size = static_cast<std::int64_t>(from->size());
    const std::int64_t first =
        std::clamp<std::int64_t>(positive((*starts)[0], from->size()), 0, size);
    const std::int64_t last =
        std::clamp<std::int64_t>(positive((*ends)[0], from->size()), first, size);
    return std::vector<Entry>(from->begin() + first, from->begin() + last);
  }

  std::optional<std::vector<Entry>> multiplied() const {
    const auto a = entries(0), b = entries(1);
    if (!a || !b || a->size() != 1 || b->size() != 1) return std::nullopt;
    Entry result{Entry::Kind::fixed, 0};
    if (depends_on_batch(a->front()) || depends_on_batch(b->front()))
      result.kind = Entry::Kind::sizes;
    return std::vector<Entry>{result};
  }

  // Result for inputs that are the same for every batch.
  Tracked fixed() const {
    Tracked result;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Tracked& one = at(i);
      if (one.parameter.empty()) continue;
      const bool moves = i == 0 && node.domain.empty() && only_moves_once(node.op);
      if (!result.parameter.empty() || !moves || !one.is_moved) {
        result.is_moved = false;
        result.changed_by = one.is_moved ? described(node) : one.changed_by;
      }
      result.parameter = one.parameter;
    }
    if (node.op == "Constant" || node.outputs.empty()) return result;
    if (node.op == "Concat") result.entries = concatenated();
    if (one_of(node.op, {"Cast", "Unsqueeze", "Squeeze", "Identity"})) result.entries = entries(0);
    if (node.op == "Gather") result.entries = gathered();
    return result;
  }
};

}  // namespace

bool only_moves_once(std::string_view op) noexcept {
  return one_of(op,
                {"Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Slice"});
}

Tracked follow_sizes(const NodeStep& step) { return SizeRules{step}.sizes(); }
Tracked follow_fixed(const NodeStep& step) { return SizeRules{step}.fixed(); }

}  // namespace ondine::graph
