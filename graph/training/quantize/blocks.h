// Rounding matrices to integers with one scale for a block of elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ondine/tensor.h>

namespace ondine::graph {

struct QuantizedMatrix {
  Tensor elements;   // int8 or int4, of the shape of the matrix
  Tensor scale;      // float32, positive; the shape of the matrix but for one dim: its blocks
  double error = 0;  // root of the sum of squared differences over that of squared elements
};

// A finite float32 matrix; `block` neighbours along `axis` share a scale, the last ones of a row
// may be fewer. The largest magnitude of a block becomes 127 in int8. For int4 the scale with the
// least squared error of several is taken.
QuantizedMatrix quantize_matrix(const Tensor& matrix, DType dtype, std::size_t axis,
                                std::int64_t block);

}  // namespace ondine::graph
