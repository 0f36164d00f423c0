// Products of floating point rows by a frozen matrix in 8-bit integers (Precision::int8).
#pragma once

#include <array>
#include <vector>

#include "graph/contract/kernel.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/quantize/dequantized_rows.h"
#include "kernels/quantize/granularity.h"
#include "kernels/simd/matmul/int8_gemm_table.h"

namespace ondine::kernels {

// c = a op(b) + bias. Each row of a gets a scale when it is read, its largest magnitude / 127, and
// each column of op(b) one when the kernel is bound. Elements of int8 with one scale for the
// matrix, a row or a column are multiplied as they are stored; others are rounded to the scale of
// their column, some at a time. Sums of products are exact, so every instruction set computes the
// same bits.
class FrozenInt8 {
 public:
  // Attribute of products whose rows are derivatives of a loss by scores: most are far below the
  // largest of a row, so bytes would lose them.
  static constexpr const char* loss_derivative = "loss_derivative";

  // Whether the context asks for such products and this one is worth it. b is input `first`, as
  // DequantizedRows takes it; all three inputs must be constant.
  static bool suits(const graph::BindContext& context, std::size_t first,
                    const math::GemmShape& shape);

  // `shape`: with the most rows of a call.
  FrozenInt8(graph::BindContext& context, Scratch& scratch, std::size_t first,
             const math::GemmShape& shape);

  const char* name() const noexcept { return gemm_->name; }
  const char* isa() const noexcept { return gemm_->isa; }

  // Rows of a and c are stored as the shape says. `bias`: a number for each column, or null.
  void run(graph::KernelContext& call, std::int64_t rows, math::Elements<const float> a,
           math::Elements<float> c, const float* bias) const;

 private:
  struct Call;
  // How elements of b become bytes.
  enum class Reading {
    stored,  // they are
    levels,  // 4 bits are looked up
    rounded  // numbers are rounded
  };

  Reading reading_of(const graph::BindContext& context) const;
  void find_scales(const graph::BindContext& context);
  std::vector<float> largest_by_scale(const graph::BindContext& context) const;
  std::vector<float> largest_by_element(const graph::BindContext& context) const;
  void read_rows(graph::KernelContext& call, const Call& one) const;
  void run_strip(const Call& one, std::byte* slot, std::int64_t strip) const;
  void pack_strip(const Call& one, std::byte* slot, std::int64_t column, std::int64_t width) const;
  // Terms and columns of op(b), and the rows and columns of b as it is stored.
  struct Part {
    std::int64_t term, terms, column, columns;
  };
  struct Piece {
    std::int64_t row, rows, column, columns;
  };
  void pack_piece(const Call& one, std::byte* slot, const Part& part,
                  std::int64_t first_column) const;
  const std::uint8_t* read(const Call& one, std::byte* slot, const Piece& piece) const;
  void read_levels(const Call& one, std::int8_t* to, std::int64_t row, const Piece& piece,
                   const float* factors) const;
  void prefetch(const std::byte* row, std::int64_t columns) const;

  std::size_t first_;
  math::GemmShape shape_;
  const math::Int8GemmKernels* gemm_;
  DequantizedRows rows_;
  DType dtype_;
  std::int64_t stored_columns_;
  Granularity::Grid grid_;
  Reading reading_;
  std::int64_t bits_;  // of an element that is stored
  std::array<float, 16> levels_ = {};
  std::vector<float> scales_;    // of the columns; empty: they are input first + 1, or 1
  std::vector<float> inverses_;  // 1 / scale, of elements that are not stored as bytes
  bool scales_terms_ = false;    // input first + 1 has one for each term of the sums
  std::int64_t width_, strips_, terms_at_once_;
  std::int64_t a_row_;
  std::size_t panels_bytes_, sums_bytes_, piece_bytes_;
  std::size_t slot_, slots_, slots_at_, a_at_, row_scales_at_, row_sums_at_;
};

}  // namespace ondine::kernels
