#include "graph/ir/name_index.h"

#include <algorithm>
#include <functional>

#include "graph/ir/graph.h"

namespace ondine::graph {
namespace {

constexpr std::size_t fewest_slots = 16;

std::size_t hash_of_name(std::string_view name) { return std::hash<std::string_view>()(name); }

}  // namespace

ValueId NameIndex::find(std::span<const GraphValue> values, std::string_view name) const noexcept {
  if (slots_.empty()) {  // of a graph whose values were put there at once
    const auto found = std::ranges::find(values, name, &GraphValue::name);
    return found == values.end() ? no_value : static_cast<ValueId>(found - values.begin());
  }
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash_of_name(name) & mask;; at = (at + 1) & mask) {
    const ValueId id = slots_[at];
    if (id == no_value || values[static_cast<std::size_t>(id)].name == name) return id;
  }
}

void NameIndex::add_last(std::span<const GraphValue> values) {
  if (values.size() <= slots_.size() / 4 * 3) {
    return insert(values, static_cast<ValueId>(values.size() - 1));
  }
  std::size_t slots = std::max(slots_.size(), fewest_slots);
  while (values.size() > slots / 4 * 3) slots *= 2;
  slots_.assign(slots, no_value);
  for (std::size_t i = 0; i < values.size(); ++i) insert(values, static_cast<ValueId>(i));
}

// The lower id of two values with one name comes first: ids are inserted in their order.
void NameIndex::insert(std::span<const GraphValue> values, ValueId id) noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash_of_name(values[static_cast<std::size_t>(id)].name) & mask;
  while (slots_[at] != no_value) at = (at + 1) & mask;
  slots_[at] = id;
}

}  // namespace ondine::graph
