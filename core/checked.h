// Arithmetic on sizes that come from outside: every overflow is an Error(limit).
#pragma once

#include <cstdint>

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

}  // namespace ondine
