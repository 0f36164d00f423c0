// How much work is worth waking a thread for.
#pragma once

#include <cstdint>

namespace ondine::math {

// Elements of a chunk of an element-wise loop. Fixed, so that results do not depend on the number
// of threads.
inline constexpr std::int64_t elementwise_grain = 16384;

}  // namespace ondine::math
