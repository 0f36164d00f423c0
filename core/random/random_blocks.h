// Many random blocks at once.
#pragma once

#include <cstddef>

#include "core/random/random.h"

namespace ondine {

// words[4 i ..]: random_block(key, first + i), i < count.
void random_blocks(const RandomKey& key, std::uint64_t first, std::size_t count,
                   std::uint32_t* words) noexcept;

}  // namespace ondine
