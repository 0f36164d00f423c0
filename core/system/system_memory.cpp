#include "core/system/system_memory.h"

#include <ondine/limits.h>

namespace ondine {

std::uint64_t default_arena_bytes() noexcept {
  static const std::uint64_t bytes = [] {
    const std::uint64_t memory = system_memory_bytes();
    return memory == 0 ? std::uint64_t{32} << 30 : memory / 4 * 3;
  }();
  return bytes;
}

}  // namespace ondine
