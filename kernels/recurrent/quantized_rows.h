// Rows of floats rounded to 8 bits by one scale and zero point, as DynamicQuantizeLinear rounds a
// tensor, and their products with quantized weights.
#pragma once

#include <memory>

#include "kernels/common/compute_type.h"
#include "kernels/quantize/packed_int8.h"

namespace ondine::kernels {

// Rounding of numbers whose range, 0 included, fills 0 to 255.
template <class C>
struct ByteRounding {
  C scale = 1;
  std::int32_t zero_point = 0;

  static ByteRounding of(const C* x, std::int64_t n);
  // As signed numbers, 128 less.
  void quantize(std::int8_t* to, const C* x, std::int64_t n) const;
  void dequantize(C* to, const std::int8_t* from, std::int64_t n) const;
};

// Weights [directions, k, n] of int8 or uint8, packed once when they are constant. Their scale and
// zero point are [directions], or [directions, n].
template <class C>
class QuantizedWeights {
 public:
  // Input `input`, its scale and its zero point.
  struct Inputs {
    std::size_t weights, scale, zero_point;
  };
  QuantizedWeights(const graph::BindContext& context, Scratch& scratch, const Inputs& inputs);

  std::int64_t terms() const { return k_; }
  std::int64_t width() const { return packed_.width(); }  // columns of memory for sums

  // Weights of one direction, prepared for one call.
  struct Direction {
    const std::byte* packed;
    const std::int32_t* zero_points;  // of the unsigned numbers, of every column
    const C* scales;                  // of every column
  };
  Direction prepare(graph::KernelContext& call, std::int64_t d) const;

  // Rows of quantized numbers, terms() each.
  struct Rows {
    std::int64_t count;
    const std::int8_t* data;
    ByteRounding<C> rounding;
  };
  // to[i][j] = or, with `add`, += the product for the columns [first, last); `first` is a multiple
  // of column_unit(). `sums` has memory for as many rows of width() columns.
  void multiply(const Direction& direction, const Rows& rows, std::int64_t first, std::int64_t last,
                std::int32_t* sums, C* const* to, bool add) const;
  std::int64_t column_unit() const { return gemm_->nr; }

 private:
  const math::Int8GemmKernels* gemm_;
  Inputs inputs_;
  std::int64_t directions_, k_, n_;
  std::uint8_t flip_;
  bool each_scale_, each_point_;
  PackedInt8 packed_;
  ComputeIn<C> scale_;
  std::shared_ptr<Tensor> constant_;  // packed weights of all directions
  std::size_t packed_at_ = 0, points_at_ = 0, scales_at_ = 0;
};

}  // namespace ondine::kernels
