// Finds the values of a graph by their names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ondine::graph {

struct GraphValue;

using ValueId = std::int32_t;
inline constexpr ValueId no_value = -1;
// Its place in lists by value.
inline std::size_t index(ValueId id) noexcept { return static_cast<std::size_t>(id); }

// A hash table of value ids. The names stay with the values, which each call gets.
class NameIndex {
 public:
  // The first value with the name; no_value when there is none.
  ValueId find(std::span<const GraphValue> values, std::string_view name) const noexcept;
  // Adds the last value; all others were added before.
  void add_last(std::span<const GraphValue> values);

 private:
  void insert(std::span<const GraphValue> values, ValueId id) noexcept;

  std::vector<ValueId> slots_;  // no_value where free; a power of two, at least a quarter is free
};

}  // namespace ondine::graph
