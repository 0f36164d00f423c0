// Synthetic feeds for benchmarks and gradient checks.
#pragma once

#include <cstdint>
#include <span>

#include <ondine/model.h>

#include "ondine/shapes.h"

namespace ondine::cli {

// One feed for each input without a default or with a given shape. Shapes are those of
// complete_shapes. Floats are uniform in [-1, 1), integers 0 or 1 (nearly always a valid label or
// index), booleans random. Of integers of an input whose name has "mask", the first along the last
// axis and one of any two neighbors is 1: a row that a network masks whole is constant for
// differences, while its derivative is not zero. Throws Error(unsupported) for inputs that are not
// numeric tensors.
NamedValues synthetic_feeds(const std::vector<PortInfo>& ports, std::int64_t dim,
                            std::uint64_t seed, const NamedShapes& given = {});

}  // namespace ondine::cli
