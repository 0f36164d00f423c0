// Matrices whose optimizer keeps its moments in a space of few dims.
#pragma once

#include <cstdint>

#include <ondine/shape.h>

namespace ondine::graph {

// Whether a parameter is a matrix with more rows and columns than the space has dims.
bool has_low_rank(const Shape& shape, std::int64_t rank);

}  // namespace ondine::graph
