// B of a product of 8-bit integers: its panels, and after them the sums of its columns, with which
// zero points of A are subtracted.
#pragma once

#include "kernels/simd/matmul/int8_gemm_table.h"

namespace ondine::kernels {

class PackedInt8 {
 public:
  // B is k x n. Its elements ^ flip are unsigned numbers.
  PackedInt8(const math::Int8GemmKernels& gemm, std::int64_t k, std::int64_t n, std::uint8_t flip);

  std::size_t bytes() const;
  // Columns for which sums, and rows of results, have room.
  std::int64_t width() const { return width_; }
  // Element (p, j) is b[p row + j column], one of the two strides being 1. `to` is 64-byte aligned.
  void pack(std::byte* to, const std::uint8_t* b, std::int64_t row, std::int64_t column) const;
  // Parts of `packed`: the sums of the columns, and the panels from column j on, a multiple of nr.
  const std::int32_t* sums(const std::byte* packed) const;
  const std::byte* panels(const std::byte* packed, std::int64_t j) const;

 private:
  const math::Int8GemmKernels* gemm_;
  std::int64_t k_, n_, width_;
  std::uint8_t flip_;
  std::size_t panel_bytes_;
};

}  // namespace ondine::kernels
