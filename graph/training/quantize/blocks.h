// Rounding matrices to few bits with one scale for a block of elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ondine/prepare.h>
#include <ondine/tensor.h>

namespace ondine::graph {

// The levels of 4-bit normal floats (Dettmers et al., QLoRA, 2023, appendix E): quantiles of the
// normal distribution, scaled to [-1, 1], with an exact zero.
extern const std::array<float, 16> normal_levels;

struct QuantizedMatrix {
  Tensor elements;   // of the format's dtype, of the shape of the matrix
  Tensor scale;      // float32, positive; the shape of the matrix but for one dim: its blocks
  double error = 0;  // root of the sum of squared differences over that of squared elements
};

// A finite float32 matrix in int8, int4 or nf4, whose elements are indices of normal_levels;
// `block` neighbours along `axis` share a scale, the last ones of a row may be fewer. The largest
// magnitude of a block becomes 127 in int8. For int4 and nf4 the scale with the least squared error
// of several is taken: up to a quarter less than the one at which the largest level is the largest
// magnitude.
QuantizedMatrix quantize_matrix(const Tensor& matrix, const FrozenFormat& format, std::size_t axis,
                                std::int64_t block);

}  // namespace ondine::graph
