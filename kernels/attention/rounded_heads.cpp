#include "kernels/attention/rounded_heads.h"

#include <algorithm>

#include "kernels/common/rounding.h"
#include "kernels/common/workspace.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {
namespace {

constexpr std::int64_t lane_group = 32;  // elements that row kernels may write past a row
constexpr std::int64_t spare = 64;       // floats that packing may write past panels
// A strip has a multiple of so many rows, of so many scores, which stay in a first cache.
constexpr std::int64_t strip_rows = 32;
constexpr std::int64_t strip_floats = 6144;

// Elements from a row of a left factor to the next.
std::int64_t left_row(std::int64_t k) { return odd_lines(round_up(k, lane_group), 32); }

float* floats(std::byte* memory, std::size_t at) { return reinterpret_cast<float*>(memory + at); }
std::uint16_t* elements(std::byte* memory, std::size_t at) {
  return reinterpret_cast<std::uint16_t*>(memory + at);
}

// Whether the bits of a bfloat16 are NaN.
bool is_nan(std::uint16_t bits) { return (bits & 0x7fff) > 0x7f80; }

}  // namespace

bool RoundedHeads::takes(const AttentionShape& s, const SimdTables& kernels) {
  constexpr std::int64_t least = 16;                    // as of products alone
  constexpr std::int64_t most = std::int64_t{1} << 18;  // elements of a factor
  if (kernels.attention_rows == nullptr || !s.key_rows) return false;
  if (s.replaced != Replaced::nothing || s.capped) return false;
  const auto [fewest, largest] = std::minmax(s.head_size, s.v_head_size);
  if (std::min({s.queries, s.keys, fewest}) < least) return false;
  return std::max(s.keys, s.queries) <= most / largest;
}

// Terms of a product with zeros after them, so that no group of terms is cut.
std::int64_t RoundedHeads::depth(std::int64_t terms) const {
  const std::int64_t unit = gemm_->unit_k;
  return round_up(terms, terms > unit ? unit : 2);
}

// Floats.
std::int64_t RoundedHeads::packed_elements(std::int64_t k, std::int64_t n) const {
  return round_up(n, gemm_->nr) * depth(k) / 2 + spare;
}

RoundedHeads::RoundedHeads(const AttentionShape& s, std::int64_t rows, const SimdTables& kernels)
    : shape_(s), kernels_(&kernels), gemm_(kernels.f32.gemm) {
  score_row_ = odd_lines(round_up(s.keys, std::max(gemm_->nr, lane_group)), 16);
  weight_row_ = left_row(s.keys);
  strip_ = std::max<std::int64_t>(1, strip_floats / score_row_ / strip_rows) * strip_rows;
  const auto place = [&](std::int64_t floats) { return parts_.add<float>(floats); };
  const std::int64_t deep = depth(rows);
  places_.keys = place(packed_elements(s.head_size, s.keys));
  places_.values = place(packed_elements(s.keys, s.v_head_size));
  places_.key_rows = place(packed_elements(s.keys, s.head_size));
  places_.value_rows = place(packed_elements(s.v_head_size, s.keys));
  const std::int64_t widest = std::max(s.head_size, s.v_head_size);
  places_.left = place(strip_ * left_row(widest) / 2);
  places_.right = place(packed_elements(rows, widest));
  places_.scores = place(strip_ * score_row_);
  places_.derivatives = place(strip_ * score_row_);
  places_.weights = place(deep * weight_row_ / 2);
  places_.rounded = place(deep * weight_row_ / 2);
  if (s.masks > 0 && s.more_masks > 0) places_.masks = place(strip_ * s.keys);
  GemmCall<float> largest = product(s.keys, widest, deep, nullptr, 0);
  largest.a_row = 1;
  largest.a_col = weight_row_;
  largest.a = Elements<const float>(Storage::bf16);
  largest.b_packed = true;
  places_.scratch = place(gemm_->scratch_bytes(largest) / std::int64_t{sizeof(float)} + spare);
}

// B of k terms and n columns, in panels with zeros after the terms.
void RoundedHeads::pack_right(const Matrix& b, std::int64_t k, std::int64_t n, float* to) const {
  const std::int64_t nr = gemm_->nr;
  const std::int64_t step = nr * depth(k) / 2;
  for (std::int64_t j = 0; j < n; j += nr, to += step) {
    GemmCall<float> call{};
    call.n = std::min(nr, n - j);
    call.k = k;
    call.b = b.elements + j * b.col;
    call.b_row = b.row;
    call.b_col = b.col;
    if (call.n < nr) std::fill_n(to, step, 0.0F);
    gemm_->pack_b(call, to);
    std::fill(to + nr * divide_up(k, 2), to + step, 0.0F);
  }
}

void RoundedHeads::round_left(const Matrix& a, std::int64_t rows, std::int64_t k, float* to) const {
  const std::int64_t row = left_row(k) / 2;
  GemmCall<float> call{};
  call.m = rows;
  call.k = k;
  call.a = a.elements;
  call.a_row = a.row;
  call.a_col = 1;
  gemm_->round_a(call, to, row);
  const std::int64_t pairs = divide_up(k, 2);
  const std::int64_t end = depth(k) / 2;
  for (std::int64_t i = 0; pairs < end && i < rows; ++i) {
    std::fill(to + i * row + pairs, to + i * row + end, 0.0F);
  }
}

GemmCall<float> RoundedHeads::product(std::int64_t m, std::int64_t n, std::int64_t k, float* c,
                                      std::int64_t ldc) const {
  GemmCall<float> call{};
  call.m = m;
  call.n = n;
  call.k = k;
  call.c = c;
  call.ldc = ldc;
  call.alpha = 1;
  return call;
}

// Panels and pairs of terms are whole from its first key on.
AttentionTile RoundedHeads::aligned(AttentionTile tile) const {
  const std::int64_t more = tile.keys.begin % lane_group;
  tile.keys.begin -= more;
  tile.keys.size += more;
  return tile;
}

// A strip of rows times columns that are packed for each key: scores, derivatives of weights.
void RoundedHeads::multiply_queries(const AttentionTile& strip, const Matrix& left,
                                    std::size_t right, std::int64_t size, float* to,
                                    std::byte* memory) const {
  const std::int64_t nr = gemm_->nr;
  const std::int64_t k = depth(size);
  GemmCall<float> call = product(strip.rows, round_up(strip.keys.size, nr), k, to, score_row_);
  // Rounded rows are read where they lie, unless they need zeros after their terms.
  if (left.elements.is_bf16() && k == size && left.row % 2 == 0) {
    call.a = left.elements.pairs();
    call.a_row = left.row / 2;
  } else {
    float* const rounded = floats(memory, places_.left);
    round_left(left, strip.rows, size, rounded);
    call.a = rounded;
    call.a_row = left_row(size) / 2;
  }
  call.a_col = 1;
  call.a_paired = true;
  call.b = floats(memory, right) + strip.keys.begin / nr * (nr * k / 2);
  call.b_packed = true;
  gemm_->run(call, memory + places_.scratch);
}

// Weights or their derivatives times rows that are packed for each key: y, dQ.
void RoundedHeads::multiply_keys(const AttentionTile& tile, std::size_t left, std::size_t right,
                                 std::int64_t size, const Rows& to, std::byte* memory) const {
  GemmCall<float> call = product(tile.rows, size, depth(tile.keys.size), to.first, to.step);
  call.a = floats(memory, left);
  call.a_row = weight_row_ / 2;
  call.a_col = 1;
  call.a_paired = true;
  call.b = floats(memory, right) + tile.keys.begin / 2 * gemm_->nr;
  call.b_packed = true;
  call.packed_k = depth(shape_.keys);
  gemm_->run(call, memory + places_.scratch);
}

// Their transpose times rows of the tile: dK, dV.
void RoundedHeads::add_queries(const AttentionTile& tile, std::size_t left, const Matrix& right,
                               std::int64_t size, const Rows& to, float beta,
                               std::byte* memory) const {
  const std::int64_t deep = depth(tile.rows);
  std::fill(elements(memory, left) + tile.rows * weight_row_,
            elements(memory, left) + deep * weight_row_, std::uint16_t{0});
  float* const packed = floats(memory, places_.right);
  pack_right(right, tile.rows, size, packed);
  GemmCall<float> call = product(tile.keys.size, size, deep, to.first, to.step);
  call.a = elements(memory, left);
  call.a_row = 1;
  call.a_col = weight_row_;
  call.b = packed;
  call.b_packed = true;
  call.beta = beta;
  gemm_->run(call, memory + places_.scratch);
}

// The rows of a strip that begins at `row` of its tile.
AttentionRows RoundedHeads::rows_of(const AttentionTile& strip, std::int64_t row, float scale,
                                    std::size_t values, std::size_t rounded,
                                    std::byte* memory) const {
  return {.count = strip.rows,
          .n = strip.keys.size,
          .scale = scale,
          .values = floats(memory, values),
          .step = score_row_,
          .rounded = elements(memory, rounded) + row * weight_row_,
          .rounded_step = weight_row_,
          .padded = depth(strip.keys.size)};
}

// The masks of a strip, added to each other where there are two.
RoundedHeads::MaskRows RoundedHeads::masks_of(const AttentionTile& strip,
                                              const AttentionScores<float>& scores,
                                              std::byte* memory) const {
  const AttentionShape& s = shape_;
  const float* const mask = mask_row(s, scores, strip, 0);
  const float* const more = more_row(s, scores, strip, 0);
  if (more == nullptr) return {mask, s.mask_per_query ? s.keys : 0};
  if (mask == nullptr) return {more, s.more_per_query ? s.keys : 0};
  const std::int64_t n = strip.keys.size;
  const std::int64_t rows = s.mask_per_query || s.more_per_query ? strip.rows : 1;
  float* const sums = floats(memory, places_.masks);
  for (std::int64_t i = 0; i < rows; ++i) {
    kernels_->f32.vector->add.vv(sums + i * n, mask_row(s, scores, strip, i),
                                 more_row(s, scores, strip, i), n);
  }
  return {sums, rows > 1 ? n : 0};
}

// The weights of such a strip: rounded, with `keep` in float32 too.
void RoundedHeads::compute_weights(const AttentionTile& strip, std::int64_t row,
                                   const AttentionScores<float>& scores,
                                   const AttentionOperands<float>& operands, bool keep,
                                   std::byte* memory) const {
  const AttentionShape& s = shape_;
  multiply_queries(strip, q_of(strip, operands.q), places_.keys, s.head_size,
                   floats(memory, places_.scores), memory);
  const AttentionRows rows =
      rows_of(strip, row, scores.scale, places_.scores, places_.weights, memory);
  const MaskRows masks = masks_of(strip, scores, memory);
  kernels_->attention_rows->weights(rows, masks.first, masks.step, keep);
  if (!scores.zero_rows) return;
  for (std::int64_t i = 0; i < strip.rows; ++i) {
    std::uint16_t* const rounded = rows.rounded + i * rows.rounded_step;
    if (!is_nan(rounded[0]) || !hides_all<float>(s, masks.row(i), nullptr, rows.n)) continue;
    std::fill_n(rounded, rows.n, std::uint16_t{0});
    std::fill_n(rows.values + i * rows.step, rows.n, 0.0F);
  }
}

// The rows of a tile or a strip.
RoundedHeads::Matrix RoundedHeads::q_of(const AttentionTile& tile, Elements<const float> q) const {
  return {q + shape_.q_offset(tile.head, tile.first), shape_.q_row(), 1};
}
RoundedHeads::Matrix RoundedHeads::dy_of(const AttentionTile& tile, const float* dy) const {
  return {dy + shape_.y_offset(tile.head, tile.first), shape_.y_row(), 1};
}

// body(strip, its first row in the tile)
template <class Body>
void RoundedHeads::for_strips(const AttentionTile& tile, Body&& body) const {
  for (std::int64_t row = 0; row < tile.rows; row += strip_) {
    body(AttentionTile{tile.head, tile.first + row, std::min(strip_, tile.rows - row), tile.keys},
         row);
  }
}

void RoundedHeads::pack(const AttentionOperands<float>& operands, std::int64_t head,
                        std::byte* memory) const {
  const AttentionShape& s = shape_;
  pack_right({operands.k + s.k_offset(head, 0), 1, s.k_row()}, s.head_size, s.keys,
             floats(memory, places_.keys));
  pack_right({operands.v + s.v_offset(head, 0), s.v_row(), 1}, s.keys, s.v_head_size,
             floats(memory, places_.values));
}

void RoundedHeads::run(ThreadPool&, const AttentionTile& given,
                       const AttentionScores<float>& scores,
                       const AttentionOperands<float>& operands, float* y,
                       std::byte* memory) const {
  const AttentionShape& s = shape_;
  const AttentionTile tile = aligned(given);
  for_strips(tile, [&](const AttentionTile& strip, std::int64_t row) {
    compute_weights(strip, row, scores, operands, false, memory);
  });
  multiply_keys(tile, places_.weights, places_.values, s.v_head_size,
                {y + s.y_offset(tile.head, tile.first), s.y_row()}, memory);
}

void RoundedHeads::pack_gradient(const AttentionOperands<float>& operands, std::int64_t head,
                                 std::byte* memory) const {
  const AttentionShape& s = shape_;
  const Elements<const float> k = operands.k + s.k_offset(head, 0);
  const Elements<const float> v = operands.v + s.v_offset(head, 0);
  pack_right({k, 1, s.k_row()}, s.head_size, s.keys, floats(memory, places_.keys));
  pack_right({k, s.k_row(), 1}, s.keys, s.head_size, floats(memory, places_.key_rows));
  pack_right({v, 1, s.v_row()}, s.v_head_size, s.keys, floats(memory, places_.value_rows));
}

// The derivatives of the scores of a strip whose weights are computed.
void RoundedHeads::derive_scores(const AttentionTile& strip, std::int64_t row,
                                 const AttentionScores<float>& scores, const float* dy,
                                 float* dmask, std::byte* memory) const {
  const AttentionShape& s = shape_;
  float* const derivatives = floats(memory, places_.derivatives);
  multiply_queries(strip, dy_of(strip, dy), places_.value_rows, s.v_head_size, derivatives, memory);
  kernels_->attention_rows->gradient(
      rows_of(strip, row, scores.scale, places_.derivatives, places_.rounded, memory),
      floats(memory, places_.scores));
  for (std::int64_t i = 0; dmask != nullptr && i < strip.rows; ++i) {
    const std::int64_t mask_row = s.mask_per_query ? strip.first + i : 0;
    kernels_->f32.vector->axpy(dmask + mask_row * s.keys + strip.keys.begin, 1.0F,
                               derivatives + i * score_row_, strip.keys.size);
  }
}

void RoundedHeads::run_gradient(ThreadPool&, const AttentionTile& given,
                                const AttentionScores<float>& scores,
                                const AttentionOperands<float>& operands, const float* dy,
                                const AttentionGradients<float>& gradients, float beta,
                                std::byte* memory) const {
  const AttentionShape& s = shape_;
  const AttentionTile tile = aligned(given);
  const std::int64_t begin = tile.keys.begin;
  const auto [dq, dk, dv, dmask] = gradients;
  const bool wants_scores = dq != nullptr || dk != nullptr || dmask != nullptr;
  for_strips(tile, [&](const AttentionTile& strip, std::int64_t row) {
    compute_weights(strip, row, scores, operands, wants_scores, memory);
    if (wants_scores) derive_scores(strip, row, scores, dy, dmask, memory);
  });
  if (dv != nullptr) {
    add_queries(tile, places_.weights, dy_of(tile, dy), s.v_head_size,
                {dv + s.v_offset(tile.head, begin), s.v_row()}, beta, memory);
  }
  if (dq != nullptr) {
    multiply_keys(tile, places_.rounded, places_.key_rows, s.head_size,
                  {dq + s.q_offset(tile.head, tile.first), s.q_row()}, memory);
  }
  if (dk != nullptr) {
    add_queries(tile, places_.rounded, q_of(tile, operands.q), s.head_size,
                {dk + s.k_offset(tile.head, begin), s.k_row()}, beta, memory);
  }
}

}  // namespace ondine::math
