#include "kernels/quantize/stored_product.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/rounding.h"
#include "kernels/quantize/granularity.h"
#include "kernels/quantize/stored_matrix.h"
#include "kernels/simd/quantize/quantize_table.h"
#include "kernels/simd/tables.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

constexpr std::size_t weight = 1;
constexpr std::size_t scale = 2;
constexpr std::size_t zero_point = 3;
constexpr std::size_t bias = 4;

// With more rows, reading pieces in float32 costs less than it saves. Where the terms of a column
// follow each other, each column's sums are joined at the end.
std::int64_t most_rows(bool by_columns) { return by_columns ? 7 : 15; }

const math::StoredProductKernels& product_rows() {
  return *math::simd_tables().quantize->stored_product;
}

bool holds_signed(DType dtype) { return dtype == DType::int8 || dtype == DType::int4; }

// Whether the levels are those of int4 or uint4, less a whole number.
bool are_steps(const std::array<float, 16>& levels) {
  const bool has_sign = levels[8] < levels[0];
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto number =
        static_cast<float>(has_sign && i >= 8 ? static_cast<int>(i) - 16 : static_cast<int>(i));
    if (levels[i] != levels[0] + number) return false;
  }
  return std::abs(levels[0]) <= 16 && std::trunc(levels[0]) == levels[0];
}

}  // namespace

std::optional<StoredProduct> StoredProduct::of(const BindContext& context,
                                               const math::GemmShape& shape) {
  if (!context.has_input(scale) || shape.m > most_rows(shape.trans_b)) return std::nullopt;
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return std::nullopt;
  StoredProduct product;
  product.shape_ = shape;
  product.b_.by_columns = shape.trans_b;
  product.b_.n = shape.n;
  product.b_.k = shape.k;
  product.has_bias_ = context.has_input(bias);
  product.has_zero_points_ = context.has_input(zero_point);
  const bool fits = product.take_elements(context) && product.take_scales(context);
  return fits ? std::optional(product) : std::nullopt;
}

bool StoredProduct::take_elements(const BindContext& context) {
  const DType dtype = matrix_dtype(context, weight);
  const auto levels = context.attr_floats("levels");
  b_.signed_zero_points = holds_signed(dtype);
  if (!is_packed_matrix(context)) {
    b_.as = holds_signed(dtype) ? math::StoredAs::signed_bytes : math::StoredAs::unsigned_bytes;
    return levels.empty() && dtype != DType::int2 && dtype != DType::uint2;
  }
  if (dtype != DType::int4 && dtype != DType::uint4) return false;
  b_.as = math::StoredAs::nibbles;
  levels_ = levels_of_nibbles(context, dtype);
  // Lanes without an element multiply a level by 0.
  const bool finite =
      std::all_of(levels_.begin(), levels_.end(), [](float x) { return std::isfinite(x); });
  const bool known = product_rows().any_levels || are_steps(levels_);
  return finite && known && (b_.by_columns ? b_.k : b_.n) % 2 == 0;
}

bool StoredProduct::take_scales(const BindContext& context) {
  const Granularity::Grid grid =
      Granularity(context, matrix_shape(context, weight), context.shape(scale)).grid();
  const std::int64_t terms = b_.by_columns ? grid.columns : grid.rows;
  const std::int64_t columns = b_.by_columns ? grid.rows : grid.columns;
  b_.block_step = b_.by_columns ? grid.column_step : grid.row_step;
  b_.column_step = b_.by_columns ? grid.row_step : grid.column_step;
  b_.block = b_.block_step == 0 ? b_.k : terms;
  if (b_.column_step != 0 && columns != 1) return false;
  return b_.block >= std::min<std::int64_t>(b_.k, 8) &&
         (b_.as != math::StoredAs::nibbles || b_.block % 2 == 0 || b_.block >= b_.k);
}

void StoredProduct::operator()(KernelContext& call) const {
  math::StoredMatrix b = b_;
  b.elements = call.in<std::uint8_t>(weight);
  b.levels = levels_.data();
  b.scales = call.in<float>(scale);
  if (has_zero_points_) b.zero_points = static_cast<const std::uint8_t*>(call.in<void>(zero_point));
  math::StoredProductCall product{.m = shape_.m,
                                  .a = call.in<float>(0),
                                  .a_row = shape_.k,
                                  .b = &b,
                                  .c = call.out<float>(0),
                                  .ldc = shape_.n,
                                  .bias = has_bias_ ? call.in<float>(bias) : nullptr};
  const math::StoredProductKernels& rows = product_rows();
  // Chunks are worth waking a thread, and as wide as memory is read well.
  constexpr std::int64_t least_work = std::int64_t{1} << 18, least_units = 3;
  const std::int64_t together = rows.columns;
  const std::int64_t units = math::divide_up(shape_.n, together);
  const std::int64_t work = shape_.m * shape_.k * together;
  const std::int64_t grain =
      std::max(std::min(least_units, math::divide_up(units, 2)), math::divide_up(least_work, work));
  call.pool().for_chunks(units, grain, [&](std::int64_t first, std::int64_t last) {
    math::StoredProductCall part = product;
    part.first = first * together;
    part.last = std::min(shape_.n, last * together);
    rows.run(part);
  });
}

}  // namespace ondine::kernels
