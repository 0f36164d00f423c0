// Synthetic feeds for benchmarks and for checking derivatives.
#pragma once

#include <cstdint>
#include <span>

#include <ondine/model.h>

namespace ondine::cli {

// One feed for each input without a default. Dynamic dims become `extent`. Floats are uniform in
// [-1, 1), integers 0 or 1 (nearly always a valid label or index), booleans random. Throws
// Error(unsupported) for inputs that are not numeric tensors.
NamedValues synthetic_feeds(std::span<const PortInfo> ports, std::int64_t extent,
                            std::uint64_t seed);

}  // namespace ondine::cli
