// A constant matrix of few bits, read as float32 piece by piece.
#pragma once

#include <optional>
#include <vector>

#include "graph/contract/kernel.h"
#include "kernels/common/convert_rows.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/quantize/granularity.h"
#include "kernels/quantize/stored_matrix.h"
#include "kernels/simd/quantize/quantize_table.h"

namespace ondine::kernels {

// The inputs b, scale and zero point of an operator, which are what DequantizeLinear takes, in
// float32: (b - zero point) scale. Without a scale b is float16 or bfloat16, widened. With the
// attribute levels, 16 numbers, b is uint4 and means levels[b] scale. b may be packed
// (stored_matrix.h).
class DequantizedRows {
 public:
  // `first`: the index of b among the inputs; scale and zero point follow.
  DequantizedRows(graph::BindContext& context, Scratch& scratch, std::size_t first);

  // Memory that the pieces of one call are read from.
  struct Source {
    const std::byte* elements;
    const float* scale;
    const float* zero_point;  // whole numbers
  };
  Source source(graph::KernelContext& call) const;

  // Elements begin <= i < end of b, in row-major order.
  void read(float* to, const Source& from, std::int64_t begin, std::int64_t end) const;

 private:
  // As read(); element i is elements[i - origin].
  void read_bytes(float* to, const Source& from, const std::byte* elements, std::int64_t origin,
                  std::int64_t begin, std::int64_t end) const;
  void unpack(std::uint8_t* to, const std::byte* packed, std::int64_t count) const;

  std::size_t first_;
  std::int64_t element_size_;
  ConvertRow widen_ = nullptr;  // without a scale
  math::QuantizeKernels::Dequantize<std::int8_t> read_signed_ = nullptr;
  math::QuantizeKernels::Dequantize<std::uint8_t> read_unsigned_ = nullptr;
  std::vector<float> levels_;
  bool packed_ = false;
  DType dtype_;
  std::optional<Granularity> granularity_;
  ConvertRow read_zero_points_ = nullptr;
  std::int64_t scales_ = 0;
  std::size_t zeros_at_ = 0;
};

// Checks b, scale and zero point as far as their types are known.
void check_dequantized(const graph::InferContext& context, std::size_t first);
// The nodes of the standard that compute the whole matrix.
graph::Val dequantize(const graph::ExpandContext& context, std::size_t first);

}  // namespace ondine::kernels
