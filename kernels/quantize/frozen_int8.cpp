#include "kernels/quantize/frozen_int8.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/packed_elements.h"
#include "core/parallel.h"
#include "kernels/common/rounding.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/quantize/byte_scale.h"
#include "kernels/quantize/stored_matrix.h"
#include "kernels/simd/quantize/quantize_table.h"
#include "kernels/simd/tables.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

constexpr std::int64_t least_rows = math::least_rounded;
constexpr std::int64_t least_size = 32;           // of the other two dimensions
constexpr std::int64_t most_terms = 1 << 17;      // of a sum of 127 x 127 that fits int32
constexpr std::int64_t strip_elements = 3 << 17;  // of b, which stay in a second-level cache
constexpr std::int64_t widest = 256;              // columns, unless fewer strips have more
constexpr std::int64_t strips_together = 4;       // for two and for four threads
constexpr std::int64_t piece_size = 1 << 14;  // bytes of b, read and packed, in a first-level cache
constexpr std::int64_t rows_at_once = 48;     // of sums
constexpr std::uint8_t flip = 128;            // makes elements of b unsigned

const math::QuantizeKernels& byte_rows() { return *math::simd_tables().quantize; }

// Rows that begin in different sets of a cache.
std::int64_t row_bytes(std::int64_t k) {
  const std::int64_t bytes = math::round_up(k, 64);
  return bytes % 1024 == 0 ? bytes + 64 : bytes;
}

std::int64_t strip_width(const math::GemmShape& s, std::int64_t panel) {
  const std::int64_t fitting = std::max(panel, strip_elements / s.k / panel * panel);
  const std::int64_t least = math::divide_up(s.n, std::min(widest, fitting));
  const std::int64_t strips = math::round_up(least, strips_together);
  return math::round_up(math::divide_up(s.n, strips), panel);
}

// The largest magnitude that an element can mean without its scale.
float largest_magnitude(DType dtype, std::span<const float> levels) {
  float largest = 0;
  for (const float level : levels) largest = std::max(largest, std::abs(level));
  if (!levels.empty()) return largest;
  switch (dtype) {
    case DType::int8:
      return 128;
    case DType::int4:
      return 8;
    case DType::int2:
      return 2;
    case DType::uint4:
      return 15;
    case DType::uint2:
      return 3;
    default:
      return 255;
  }
}

// Whether a zero point is not 0.
bool has_zero_points(const BindContext& context, std::size_t index) {
  if (!context.has_input(index)) return false;
  const Tensor& points = *context.constant(index);
  const std::span bytes(static_cast<const std::byte*>(points.data()), points.bytes());
  return std::ranges::any_of(bytes, [](std::byte each) { return each != std::byte{0}; });
}

}  // namespace

struct FrozenInt8::Call {
  std::int64_t rows;
  math::Elements<const float> a;
  math::Elements<float> c;
  const float* bias;
  DequantizedRows::Source b;
  const float* term_scales;
  const float* column_scales;
  std::int8_t* rows_of_a;
  float* row_scales;
  std::int32_t* row_sums;
};

bool FrozenInt8::suits(const BindContext& context, std::size_t first,
                       const math::GemmShape& shape) {
  if (context.precision() != Precision::int8 || !context.has_input(first + 1)) return false;
  if (context.constant(first + 1) == nullptr) return false;
  if (context.constant(first) == nullptr) return false;
  if (context.has_input(first + 2) && context.constant(first + 2) == nullptr) return false;
  if (context.attr_int(loss_derivative, 0) != 0) return false;
  const auto levels = context.attr_floats("levels");
  if (std::ranges::any_of(levels, [](float x) { return !std::isfinite(x); })) return false;
  return shape.m >= least_rows && std::min(shape.n, shape.k) >= least_size && shape.k <= most_terms;
}

FrozenInt8::FrozenInt8(BindContext& context, Scratch& scratch, std::size_t first,
                       const math::GemmShape& shape)
    : first_(first),
      shape_(shape),
      gemm_(math::int8_gemm_implementations(math::simd_tables()).first),
      rows_(context, scratch, first),
      dtype_(matrix_dtype(context, first)),
      stored_columns_(matrix_shape(context, first)[1]),
      grid_(Granularity(context, matrix_shape(context, first), context.shape(first + 1)).grid()),
      reading_(reading_of(context)),
      bits_(is_packed_matrix(context) ? static_cast<std::int64_t>(packed_bits(dtype_)) : 8),
      width_(strip_width(shape, gemm_->nr)),
      strips_(math::divide_up(shape.n, width_)),
      a_row_(row_bytes(shape.k)) {
  if (shape_.lda == 0) shape_.lda = shape_.k;
  if (shape_.ldc == 0) shape_.ldc = shape_.n;
  find_scales(context);
  terms_at_once_ = math::round_up(piece_size / (shape_.trans_b ? gemm_->nr : width_), 64);
  panels_bytes_ = math::bytes_of<std::byte>(gemm_->packed_bytes(shape_.k, width_));
  sums_bytes_ = math::bytes_of<std::int32_t>(rows_at_once * width_);
  piece_bytes_ = math::bytes_of<std::byte>(terms_at_once_ * (shape_.trans_b ? gemm_->nr : width_));
  const std::int64_t longest = std::max(width_, terms_at_once_);
  slot_ = panels_bytes_ + sums_bytes_ + piece_bytes_ + math::bytes_of<float>(longest);
  slots_ = math::ScratchPool::bytes(slot_, context.threads());
  slots_at_ = scratch.add_bytes(slots_);
  a_at_ = scratch.add<std::int8_t>(checked_mul(shape_.m, a_row_));
  row_scales_at_ = scratch.add<float>(shape_.m);
  row_sums_at_ = scratch.add<std::int32_t>(shape_.m);
}

FrozenInt8::Reading FrozenInt8::reading_of(const BindContext& context) const {
  if (has_zero_points(context, first_ + 2)) return Reading::rounded;
  const bool is_packed = is_packed_matrix(context);
  const bool has_levels = context.has_attr("levels");
  // One scale for all terms of a column or for all columns of a term.
  const bool by_row = grid_.row_step == 0 || (grid_.rows == 1 && grid_.row_step == 1);
  const bool by_column = grid_.column_step == 0 || (grid_.columns == 1 && grid_.column_step == 1);
  const bool by_one = grid_.row_step == 0 || grid_.column_step == 0;
  if (dtype_ == DType::int8 && !has_levels && by_row && by_column && by_one) return Reading::stored;
  const bool has_nibbles = is_packed && (dtype_ == DType::int4 || dtype_ == DType::uint4);
  const bool whole_bytes = stored_columns_ % 2 == 0 &&
                           (grid_.column_step == 0 || grid_.columns == 1 || grid_.columns % 2 == 0);
  return has_nibbles && whole_bytes ? Reading::levels : Reading::rounded;
}

void FrozenInt8::find_scales(const BindContext& context) {
  const std::int64_t column_step = shape_.trans_b ? grid_.row_step : grid_.column_step;
  const std::int64_t term_step = shape_.trans_b ? grid_.column_step : grid_.row_step;
  if (reading_ == Reading::stored) {
    scales_terms_ = term_step != 0;
    if (!scales_terms_ && column_step == 0) {
      scales_.assign(static_cast<std::size_t>(shape_.n),
                     context.constant(first_ + 1)->values<float>()[0]);
    }
    return;
  }
  if (reading_ == Reading::levels) levels_ = levels_of_nibbles(context, dtype_);
  const std::vector<float> most = has_zero_points(context, first_ + 2) ? largest_by_element(context)
                                                                       : largest_by_scale(context);
  scales_.resize(most.size());
  inverses_.resize(most.size());
  for (std::size_t j = 0; j < most.size(); ++j) {
    scales_[j] = byte_scale(most[j]);
    inverses_[j] = byte_factor(scales_[j]);
  }
}

// The largest magnitude that the stored scales allow in each column of op(b).
std::vector<float> FrozenInt8::largest_by_scale(const BindContext& context) const {
  const std::int64_t column_step = shape_.trans_b ? grid_.row_step : grid_.column_step;
  const std::int64_t term_step = shape_.trans_b ? grid_.column_step : grid_.row_step;
  const std::int64_t column_block = shape_.trans_b ? grid_.rows : grid_.columns;
  const std::int64_t term_block = shape_.trans_b ? grid_.columns : grid_.rows;
  const std::int64_t term_blocks = term_step == 0 ? 1 : math::divide_up(shape_.k, term_block);
  const std::int64_t blocks = column_step == 0 ? 1 : math::divide_up(shape_.n, column_block);
  const auto scales = context.constant(first_ + 1)->values<float>();
  const float largest = largest_magnitude(dtype_, context.attr_floats("levels"));
  std::vector<float> of_block(static_cast<std::size_t>(blocks));
  for (std::int64_t i = 0; i < term_blocks; ++i) {
    for (std::int64_t j = 0; j < blocks; ++j) {
      const auto at = static_cast<std::size_t>(j * column_step + i * term_step);
      enlarge(of_block[static_cast<std::size_t>(j)], largest * scales[at]);
    }
  }
  std::vector<float> most(static_cast<std::size_t>(shape_.n));
  for (std::size_t j = 0; j < most.size(); ++j) {
    most[j] = of_block[column_step == 0 ? 0 : j / static_cast<std::size_t>(column_block)];
  }
  return most;
}

// The largest magnitude of the elements: with zero points they seldom have the range of their
// dtype.
std::vector<float> FrozenInt8::largest_by_element(const BindContext& context) const {
  const Tensor& points = *context.constant(first_ + 2);
  std::vector<float> zeros(static_cast<std::size_t>(points.size()));
  row_to_float(dtype_)(zeros.data(), points.data(), points.size());
  const DequantizedRows::Source source{
      static_cast<const std::byte*>(context.constant(first_)->data()),
      context.constant(first_ + 1)->values<float>().data(), zeros.data()};
  std::vector<float> most(static_cast<std::size_t>(shape_.n));
  std::vector<float> row(static_cast<std::size_t>(stored_columns_));
  const std::int64_t rows = shape_.trans_b ? shape_.n : shape_.k;
  for (std::int64_t i = 0; i < rows; ++i) {
    rows_.read(row.data(), source, i * stored_columns_, (i + 1) * stored_columns_);
    for (std::size_t j = 0; j < row.size(); ++j) {
      enlarge(most[shape_.trans_b ? static_cast<std::size_t>(i) : j], row[j]);
    }
  }
  return most;
}

void FrozenInt8::run(KernelContext& call, std::int64_t rows, math::Elements<const float> a,
                     math::Elements<float> c, const float* bias) const {
  if (rows == 0) return;
  const auto* const scales = call.in<float>(first_ + 1);
  const Call one{.rows = rows,
                 .a = a,
                 .c = c,
                 .bias = bias,
                 .b = rows_.source(call),
                 .term_scales = scales_terms_ ? scales : nullptr,
                 .column_scales = scales_terms_     ? nullptr
                                  : scales_.empty() ? scales
                                                    : scales_.data(),
                 .rows_of_a = Scratch::at<std::int8_t>(call, a_at_),
                 .row_scales = Scratch::at<float>(call, row_scales_at_),
                 .row_sums = Scratch::at<std::int32_t>(call, row_sums_at_)};
  read_rows(call, one);
  math::ScratchPool({Scratch::at<std::byte>(call, slots_at_), slots_}, slot_)
      .for_chunks(call.pool(), strips_, 1,
                  [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                    for (auto i = first; i < last; ++i) run_strip(one, slot, i);
                  });
}

void FrozenInt8::read_rows(KernelContext& call, const Call& one) const {
  const math::QuantizeKernels& kernels = byte_rows();
  const std::int64_t grain = std::max<std::int64_t>(1, (1 << 16) / shape_.k);
  call.pool().for_chunks(one.rows, grain, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) {
      const auto row = one.a + i * shape_.lda;
      std::int8_t* const to = one.rows_of_a + i * a_row_;
      one.row_sums[i] =
          row.is_bf16()
              ? kernels.bf16_to_bytes(to, one.row_scales + i, row.bf16(), one.term_scales, shape_.k)
              : kernels.to_bytes(to, one.row_scales + i, row.plain(), one.term_scales, shape_.k);
    }
  });
}

void FrozenInt8::run_strip(const Call& one, std::byte* slot, std::int64_t strip) const {
  const std::int64_t column = strip * width_;
  const std::int64_t width = std::min(width_, shape_.n - column);
  pack_strip(one, slot, column, width);
  auto* const sums = reinterpret_cast<std::int32_t*>(slot + panels_bytes_);
  for (std::int64_t first = 0; first < one.rows; first += rows_at_once) {
    const std::int64_t count = std::min(rows_at_once, one.rows - first);
    gemm_->run(
        {count, width, shape_.k, one.rows_of_a + first * a_row_, a_row_, slot, sums, width_});
    for (std::int64_t i = 0; i < count; ++i) {
      // Elements of b are 128 too large.
      const auto add =
          static_cast<std::int32_t>(-static_cast<std::int64_t>(flip) * one.row_sums[first + i]);
      byte_rows().scale_sums(
          one.c + ((first + i) * shape_.ldc + column), sums + i * width_,
          {.add = add,
           .row = one.row_scales[first + i],
           .columns = one.column_scales == nullptr ? nullptr : one.column_scales + column,
           .bias = one.bias == nullptr ? nullptr : one.bias + column},
          width);
    }
  }
}

void FrozenInt8::pack_strip(const Call& one, std::byte* slot, std::int64_t column,
                            std::int64_t width) const {
  // Pieces of b have whole rows as far as they fit.
  const std::int64_t columns_at_once = shape_.trans_b ? gemm_->nr : width;
  for (std::int64_t j = 0; j < width; j += columns_at_once) {
    const std::int64_t columns = std::min(columns_at_once, width - j);
    for (std::int64_t term = 0; term < shape_.k; term += terms_at_once_) {
      const std::int64_t terms = std::min(terms_at_once_, shape_.k - term);
      pack_piece(one, slot, {term, terms, column + j, columns}, j);
    }
  }
}

void FrozenInt8::pack_piece(const Call& one, std::byte* slot, const Part& part,
                            std::int64_t first_column) const {
  const Piece stored = shape_.trans_b ? Piece{part.column, part.columns, part.term, part.terms}
                                      : Piece{part.term, part.terms, part.column, part.columns};
  const std::uint8_t* const b = read(one, slot, stored);
  const std::int64_t row = reading_ == Reading::stored ? stored_columns_ : stored.columns;
  const std::int64_t panel_bytes = gemm_->packed_bytes(shape_.k, gemm_->nr);
  for (std::int64_t j = 0; j < part.columns; j += gemm_->nr) {
    std::byte* const to = slot + (first_column + j) / gemm_->nr * panel_bytes +
                          gemm_->packed_bytes(part.term, gemm_->nr);
    gemm_->pack_b(to, b + j * (shape_.trans_b ? row : 1), shape_.trans_b ? 1 : row,
                  shape_.trans_b ? row : 1, part.terms, std::min(gemm_->nr, part.columns - j),
                  flip);
  }
}

// Rows of b lie far apart: the part of a row that the next piece reads in its place.
void FrozenInt8::prefetch(const std::byte* row, std::int64_t columns) const {
  const std::int64_t rows = shape_.trans_b ? gemm_->nr : terms_at_once_;
  const std::byte* const next = row + rows * stored_columns_ * bits_ / 8;
  for (std::int64_t at = 0; at < columns * bits_ / 8; at += 64) __builtin_prefetch(next + at);
}

// Elements as int8: where they are stored, or by the scales of the columns of op(b).
const std::uint8_t* FrozenInt8::read(const Call& one, std::byte* slot, const Piece& piece) const {
  const auto stored = [&](std::int64_t i) {
    return one.b.elements + ((piece.row + i) * stored_columns_ + piece.column) * bits_ / 8;
  };
  if (reading_ == Reading::stored) {
    for (std::int64_t i = 0; i < piece.rows; ++i) prefetch(stored(i), piece.columns);
    return reinterpret_cast<const std::uint8_t*>(stored(0));
  }
  auto* const bytes = reinterpret_cast<std::int8_t*>(slot + panels_bytes_ + sums_bytes_);
  auto* const row = reinterpret_cast<float*>(slot + panels_bytes_ + sums_bytes_ + piece_bytes_);
  for (std::int64_t i = 0; i < piece.rows; ++i) {
    std::int8_t* const to = bytes + i * piece.columns;
    prefetch(stored(i), piece.columns);
    const float* const factors = inverses_.data() + (shape_.trans_b ? piece.row + i : piece.column);
    if (reading_ == Reading::levels) {
      read_levels(one, to, piece.row + i, piece, factors);
      continue;
    }
    const std::int64_t from = (piece.row + i) * stored_columns_ + piece.column;
    rows_.read(row, one.b, from, from + piece.columns);
    byte_rows().round_to_bytes(to, row, factors, !shape_.trans_b, piece.columns);
  }
  return reinterpret_cast<const std::uint8_t*>(bytes);
}

void FrozenInt8::read_levels(const Call& one, std::int8_t* to, std::int64_t row, const Piece& piece,
                             const float* factors) const {
  const auto* const packed = reinterpret_cast<const std::uint8_t*>(one.b.elements) +
                             (row * stored_columns_ + piece.column) / 2;
  const float* const scales = one.b.scale + row / grid_.rows * grid_.row_step;
  const bool each = grid_.column_step != 0 && grid_.columns == 1;
  const std::int64_t block = grid_.column_step == 0 || each ? stored_columns_ : grid_.columns;
  for (std::int64_t j = 0; j < piece.columns;) {
    const std::int64_t at = piece.column + j;
    const std::int64_t count = std::min(piece.columns - j, block - at % block);
    const std::int64_t scale = each ? at * grid_.column_step : at / block * grid_.column_step;
    byte_rows().levels_to_bytes(to + j, packed + j / 2,
                                {.levels = levels_.data(),
                                 .scale = scales + scale,
                                 .each_scale = each,
                                 .factor = shape_.trans_b ? factors : factors + j,
                                 .each_factor = !shape_.trans_b},
                                count);
    j += count;
  }
}

}  // namespace ondine::kernels
