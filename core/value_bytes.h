// Memory of values that are held in large numbers: in sequences, maps and the records of loops.
#pragma once

#include <cstddef>

#include <ondine/value.h>

namespace ondine {

// A value in a list, the owner of its elements, and what the heap adds to both.
inline constexpr std::size_t held_value_bytes = sizeof(Value) + 128;
// Bytes that a sequence, map or optional takes beside its list.
inline constexpr std::size_t compound_bytes = 2 * sizeof(Value) + 128;

}  // namespace ondine
