// Made-up feeds for timing and for checking derivatives.
#pragma once

#include <cstdint>
#include <span>

#include <ondine/model.h>

namespace ondine::cli {

// One feed for each input without a default. Open extents become `extent`. Floats are uniform in
// [-1, 1), integers 0 or 1 (a valid label or index nearly everywhere), booleans either. Throws
// Error(unsupported) for inputs that are no tensors of numbers.
NamedValues synthetic_feeds(std::span<const PortInfo> ports, std::int64_t extent,
                            std::uint64_t seed);

}  // namespace ondine::cli
