// Synthetic feeds for benchmarks and gradient checks.
#pragma once

#include <cstdint>
#include <span>

#include <ondine/model.h>

namespace ondine::cli {

// One feed for each input without a default. Dynamic dims get size `dim`. Floats are uniform in
// [-1, 1), integers 0 or 1 (nearly always a valid label or index), booleans random. Throws
// Error(unsupported) for inputs that are not numeric tensors.
NamedValues synthetic_feeds(std::span<const PortInfo> ports, std::int64_t dim, std::uint64_t seed);

}  // namespace ondine::cli
