// Bytes of elements in memory.
#pragma once

#include "core/checked.h"

namespace ondine {

// Error(limit) where the address space does not hold them.
inline std::size_t element_bytes(std::int64_t count, DType dtype) {
  const std::int64_t bytes = checked_mul(count, static_cast<std::int64_t>(size_of(dtype)));
  return size_in_memory(static_cast<std::uint64_t>(bytes), "a tensor");
}

}  // namespace ondine
