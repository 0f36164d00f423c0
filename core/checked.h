// Arithmetic on sizes that come from outside: every overflow is an Error(limit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "core/message.h"

namespace ondine {

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    fail(ErrorCode::limit, "size ", a, " x ", b, " overflows");
  return result;
}

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result))
    fail(ErrorCode::limit, "size ", a, " + ", b, " overflows");
  return result;
}

// A number of bytes as a size in memory, of which addresses with 32 bits have fewer than files.
// `what`: "a tensor".
inline std::size_t size_in_memory(std::uint64_t bytes, std::string_view what) {
  if (!std::in_range<std::ptrdiff_t>(bytes)) {
    fail(ErrorCode::limit, what, " of ", bytes, " bytes is larger than the address space");
  }
  return static_cast<std::size_t>(bytes);
}

// The number of elements of `each` bytes that are to lie in memory.
inline std::size_t count_in_memory(std::uint64_t count, std::size_t each, std::string_view what) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, each, &bytes))
    bytes = std::numeric_limits<std::uint64_t>::max();
  return size_in_memory(bytes, what) / each;
}

}  // namespace ondine
