#include "core/system/system_memory.h"

#include <algorithm>
#include <limits>

#include <ondine/limits.h>

namespace ondine {

std::uint64_t default_arena_bytes() noexcept {
  static const std::uint64_t bytes = [] {
    constexpr std::uint64_t addresses = std::numeric_limits<std::size_t>::max() / 4 * 3;
    const std::uint64_t memory = system_memory_bytes();
    return std::min(addresses, memory == 0 ? std::uint64_t{32} << 30 : memory / 4 * 3);
  }();
  return bytes;
}

}  // namespace ondine
