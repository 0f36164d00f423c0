// Operands and results of integer products (Int8MatMul, Int8Conv): operands of 8 bits seen as
// signed or unsigned numbers, their zero points, and the results made of the sums.
#pragma once

#include "graph/contract/builder.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/simd/quantize/quantize_table.h"

namespace ondine::kernels {

// Bits to flip so that elements become signed or unsigned (Int8GemmKernels); their zero points move
// by as much.
constexpr std::uint8_t flip_to_signed(DType dtype) { return dtype == DType::uint8 ? 0x80 : 0; }
constexpr std::uint8_t flip_to_unsigned(DType dtype) { return dtype == DType::int8 ? 0x80 : 0; }

// Zero points of elements of `dtype`: input `input` of a product, or 0 if it is absent. They apply
// to the elements as signed or as unsigned numbers.
class ZeroPoints {
 public:
  ZeroPoints(graph::BindContext& context, Scratch& scratch, std::size_t input, DType dtype,
             bool as_signed);
  std::int64_t count() const { return count_; }
  const std::int32_t* read(graph::KernelContext& call) const;  // count() of them, in scratch memory

 private:
  std::size_t input_;
  bool given_;
  bool unsigned_;
  std::int32_t shift_;
  std::int64_t count_ = 1;
  std::size_t offset_;
};

// The inputs first, first + 1, ...: scales of a, of b and of y, and the zero point of y. Where they
// are absent the results are the sums in int32.
class Int8Epilogue {
 public:
  Int8Epilogue(graph::BindContext& context, Scratch& scratch, std::size_t first);
  bool quantizes() const { return quantizes_; }

  // Values of a call. scale(i, j) multiplies the sum of row i and column j, or of channel j.
  struct Values {
    const double* a = nullptr;
    const double* b = nullptr;
    std::int64_t a_count = 0;
    std::int64_t b_count = 0;
    double y = 1;
    float lowest = 0, highest = 0;  // of the results without the zero point
    std::int32_t zero_point = 0;

    float scale(std::int64_t i, std::int64_t j) const {
      return finite(a[a_count > 1 ? i : 0] * b[b_count > 1 ? j : 0] / y);
    }
    // An infinite scale saturates all sums but 0, as the largest number does; NaN counts as 0.
    static float finite(double scale);
  };
  Values read(graph::KernelContext& call) const;

 private:
  std::size_t first_;
  bool quantizes_;
  graph::Kernel read_scales_;
  std::int64_t a_count_ = 0;
  std::int64_t b_count_ = 0;
  std::size_t offset_ = 0;
  bool signed_ = false;
  bool relu_ = false;
  bool relu6_ = false;
};

}  // namespace ondine::kernels
