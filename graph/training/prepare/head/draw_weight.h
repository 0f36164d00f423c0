// First values of weights that prepare adds.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/filled_tensor.h"
#include "core/random/random.h"

namespace ondine::graph {

// Uniform in +-1 / sqrt(fan in), as initialization draws them again.
inline Tensor draw_weight(const Shape& shape, DType dtype, std::int64_t fan_in,
                          const RandomKey& key = {}) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return filled_tensor(shape, dtype,
                       [&](std::size_t i) { return bound * (2 * uniform_at(key, i) - 1); });
}

}  // namespace ondine::graph
