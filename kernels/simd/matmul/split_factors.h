// Factors of float32 as sums of three bfloat16: x = x1 + x2 + x3 exactly, but for parts below the
// smallest normal number, which count as zeros. Products of the parts without x2 y3, x3 y2 and
// x3 y3 are x y up to 2^-24 |x y|, what rounding x y to float32 costs at most (Henry, Tang and
// Heinecke: Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
// Computations, 2019). In panels for tiles: 16 x 16 pairs of elements that follow each other in k.
#pragma once

#include "kernels/simd/matmul/chunks.h"
#include "kernels/simd/matmul/gemm_micro.h"
#include "kernels/simd/matmul/gemm_pack.h"
#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/matmul/tiles.h"
#include "kernels/simd/vector/pairs_bf16.h"

namespace ondine::math::ONDINE_ISA {

// Panels of 32 rows of A or columns of B. A step of 32 terms has the three parts one after the
// other, each in two tiles.
inline constexpr std::int64_t split_width = 2 * tile_width;  // of a panel
inline constexpr std::int64_t split_terms = 2 * tile_width;  // of a step
inline constexpr std::int64_t tile_pairs = tile_rows * tile_width;
inline constexpr std::int64_t part_pairs = 2 * tile_pairs;
inline constexpr std::int64_t step_pairs = 3 * part_pairs;

ONDINE_INLINE std::int64_t split_steps(std::int64_t k) { return divide_up(k, split_terms); }
ONDINE_INLINE std::int64_t panel_pairs(std::int64_t k) { return split_steps(k) * step_pairs; }

// Each a bfloat16 in the place of a float. Infinite and NaN x have a NaN or an infinity among them.
struct Parts {
  Vec<float> first, second, third;
};

using PartBits = Vec<std::uint32_t>;

// To nearest, ties away from zero. The payload of a NaN may overflow: `third` stays NaN.
ONDINE_INLINE Vec<float> nearest_part(const Vec<float>& x) {
  return reinterpret_cast<Vec<float>>((reinterpret_cast<PartBits>(x) + 0x8000u) & 0xffff0000u);
}
ONDINE_INLINE Parts split(const Vec<float>& x) {
  Parts parts;
  parts.first = nearest_part(x);
  const Vec<float> rest = x - parts.first;
  parts.second = nearest_part(rest);
  parts.third = rest - parts.second;  // has 7 bits
  return parts;
}

// Lane i: the pair of x[i] and y[i], which are bfloat16.
ONDINE_INLINE Vec<Pair> pair_parts(const Vec<float>& x, const Vec<float>& y) {
  return reinterpret_cast<Vec<Pair>>((reinterpret_cast<PartBits>(x) >> 16) |
                                     (reinterpret_cast<PartBits>(y) & 0xffff0000u));
}

// A vector of pairs of each part.
ONDINE_INLINE void store_beside(Pair* to, const Vec<float>& x, const Vec<float>& y) {
  const Parts a = split(x);
  const Parts b = split(y);
  store(to, pair_parts(a.first, b.first));
  store(to + part_pairs, pair_parts(a.second, b.second));
  store(to + 2 * part_pairs, pair_parts(a.third, b.third));
}
ONDINE_INLINE void store_along(Pair* to, const Vec<float>& low, const Vec<float>& high) {
  const Parts a = split(low);
  const Parts b = split(high);
  store(to, join_pairs(a.first, b.first));
  store(to + part_pairs, join_pairs(a.second, b.second));
  store(to + 2 * part_pairs, join_pairs(a.third, b.third));
}

// 16 x 16 elements of `from` and of the 15 rows after it, `ld` apart, at to[p 32 + r] for r < rows
// and p < terms; zeros beyond. What lies `ahead` elements further on is wanted next.
static void turn_square(float* to, const float* from, std::int64_t ld, std::int64_t rows,
                        std::int64_t terms, std::int64_t ahead) {
  constexpr int L = lanes<float>;
  for (std::int64_t r = 0; r < min_of(tile_rows, rows); ++r) {
    __builtin_prefetch(from + r * ld + ahead);
  }
  for (std::int64_t r = 0; r < tile_rows; r += L) {
    for (std::int64_t p = 0; p < tile_width; p += L) {
      const float* const at = from + r * ld + p;
      float* const square = to + p * split_width + r;
      if (r + L <= rows && p + L <= terms) {
        turn(
            hidden(square),
            split_width, [&](int i) __attribute__((always_inline)) { return at + i * ld; });
        continue;
      }
      Vec<float> block[L];
      for (int i = 0; i < L; ++i) {
        const bool has = r + i < rows && p < terms;
        block[i] = has ? load_n(at + i * ld, min_of(L, terms - p)) : Vec<float>{};
      }
      transpose<float>(block);
      for (int i = 0; i < L; ++i) store(square + i * split_width, block[i]);
    }
  }
}

// Factors are split a little at a time, between multiplications: two rows of A or B, after each
// step of a factor whose vectors do not lie along rows of tiles was transposed in four squares.
inline constexpr std::int64_t squares = 4;
using Turned = float[split_terms * split_width];

// Terms [p, p + kc) of columns [j, j + cols) of B, up to 32, as a panel.
class PanelOfB {
 public:
  PanelOfB() = default;
  PanelOfB(const GemmCall<float>& g, std::int64_t p, std::int64_t kc, std::int64_t j,
           std::int64_t cols, Pair* to)
      : from_(g.b_packed ? g.b.plain() + j / packed * packed * g.k + p * packed + j % packed
                         : g.b.plain() + p * g.b_row + j * g.b_col),
        row_(g.b_packed ? packed : g.b_row),
        col_(g.b_packed ? 1 : g.b_col),
        panel_(g.b_packed ? packed * g.k : packed),
        terms_(kc),
        cols_(cols),
        unit_(first_unit()),
        to_(to) {}

  // Calls of split_next until nothing is left.
  std::int64_t units() const { return split_steps(terms_) * (tile_rows - first_unit()); }
  void split_next(Turned& turned) {
    if (unit_ < 0) {
      turn_columns(turned, unit_ + squares);
    } else if (col_ != 1) {
      split_rows(
          terms_, split_width, [&](std::int64_t r, std::int64_t c) __attribute__((always_inline)) {
            return turned + r * split_width + c;
          });
    } else {
      const float* const ahead = from_ + (2 * unit_ + split_terms) * row_;
      __builtin_prefetch(ahead);
      __builtin_prefetch(ahead + row_);
      __builtin_prefetch(ahead + split_width / 2);
      __builtin_prefetch(ahead + row_ + split_width / 2);
      split_rows(
          terms_, cols_, [&](std::int64_t r, std::int64_t c) __attribute__((always_inline)) {
            return at(r, c);
          });
    }
    if (++unit_ < tile_rows) return;
    to_ += step_pairs;
    next_step();
  }

  // The next step in rows of 32 floats, zeros beyond the last term and column.
  void read_next(Turned& rows) {
    constexpr int L = lanes<float>;
    for (std::int64_t s = 0; col_ != 1 && s < squares; ++s) turn_columns(rows, s);
    for (std::int64_t t = 0; col_ == 1 && t < split_terms; ++t) {
      for (std::int64_t c = 0; c < split_width; c += L) {
        const bool has = t < terms_ && c < cols_;
        store(rows + t * split_width + c,
              has ? load_n(at(t, c), min_of(L, cols_ - c)) : Vec<float>{});
      }
    }
    next_step();
  }

 private:
  static constexpr std::int64_t packed = panel<float>;  // columns of a panel that is given

  std::int64_t first_unit() const { return col_ != 1 ? -squares : 0; }
  void next_step() {
    from_ += split_terms * row_;
    terms_ -= split_terms;
    unit_ = first_unit();
  }

  // Where a vector from column c on lies together.
  ONDINE_MEMBER const float* at(std::int64_t p, std::int64_t c) const {
    return from_ + p * row_ + c / packed * panel_ + c % packed;
  }

  void turn_columns(Turned& turned, std::int64_t square) const {
    const std::int64_t c = square / 2 * tile_width, q = square % 2 * tile_width;
    turn_square(turned + q * split_width + c, from_ + q * row_ + c * col_, col_, cols_ - c,
                terms_ - q, split_terms);
  }

  // Rows 2 unit_ and the one after it.
  template <class At>
  ONDINE_MEMBER void split_rows(std::int64_t terms, std::int64_t cols, At&& at) const {
    constexpr int L = lanes<float>;
    const std::int64_t r = 2 * unit_;
    Pair* const to = to_ + unit_ * tile_width;
    if (terms >= r + 2 && cols >= split_width) {
#pragma GCC unroll 8
      for (std::int64_t c = 0; c < split_width; c += L) {
        store_beside(to + c / tile_width * tile_pairs + c % tile_width, load(at(r, c)),
                     load(at(r + 1, c)));
      }
      return;
    }
    for (std::int64_t c = 0; c < cols; c += L) {
      const std::int64_t some = min_of(L, cols - c);
      store_beside(to + c / tile_width * tile_pairs + c % tile_width,
                   terms > r ? load_n(at(r, c), some) : Vec<float>{},
                   terms > r + 1 ? load_n(at(r + 1, c), some) : Vec<float>{});
    }
  }

  const float* from_ = nullptr;  // of the next step
  std::int64_t row_ = 0, col_ = 1, panel_ = 0, terms_ = 0, cols_ = 0;
  std::int64_t unit_ = 0;  // of a step; below 0: squares
  Pair* to_ = nullptr;
};

// Terms [p, p + kc) of rows [i, i + rows) of A, up to 32, as a panel.
class PanelOfA {
 public:
  PanelOfA() = default;
  PanelOfA(const GemmCall<float>& g, std::int64_t p, std::int64_t kc, std::int64_t i,
           std::int64_t rows, Pair* to)
      : from_(g.a.plain() + i * g.a_row + p * g.a_col),
        row_(g.a_row),
        col_(g.a_col),
        terms_(kc),
        rows_(rows),
        unit_(first_unit()),
        to_(to) {}

  std::int64_t units() const { return split_steps(terms_) * (tile_rows - first_unit()); }
  void split_next(Turned& turned) {
    if (unit_ < 0) {
      const std::int64_t square = unit_ + squares;
      const std::int64_t q = square / 2 * tile_width, s = square % 2 * tile_width;
      turn_square(turned + s * split_terms + q, from_ + q * col_ + s, col_, terms_ - q, rows_ - s,
                  split_terms * col_);
    } else {
      Pair* const to = to_ + 2 * unit_ * tile_width;
      for (std::int64_t s = 0; s < 2 && 2 * unit_ + s < rows_; ++s) {
        const std::int64_t r = 2 * unit_ + s;
        if (col_ != 1) {
          split_row(to + s * tile_width, turned + r * split_terms, split_terms);
          continue;
        }
        const float* const from = from_ + r * row_;
        __builtin_prefetch(from + 2 * split_terms);
        __builtin_prefetch(from + 2 * split_terms + split_terms / 2);
        split_row(to + s * tile_width, from, terms_);
      }
    }
    if (++unit_ < tile_rows) return;
    from_ += split_terms * col_;
    terms_ -= split_terms;
    to_ += step_pairs;
    unit_ = first_unit();
  }

 private:
  std::int64_t first_unit() const { return col_ != 1 ? -squares : 0; }

  // `terms` terms of a row, 32 at most, into a row of a tile of each part; zeros beyond.
  ONDINE_MEMBER static void split_row(Pair* to, const float* from, std::int64_t terms) {
    constexpr int L = lanes<float>;
#pragma GCC unroll 8
    for (std::int64_t q = 0; q < split_terms; q += 2 * L, to += L) {
      const std::int64_t left = terms - q;
      if (left >= 2 * L) {
        store_along(to, load(from + q), load(from + q + L));
        continue;
      }
      store_along(to, left > 0 ? load_n(from + q, min_of(L, left)) : Vec<float>{},
                  left > L ? load_n(from + q + L, left - L) : Vec<float>{});
    }
  }

  const float* from_ = nullptr;  // of the next step
  std::int64_t row_ = 0, col_ = 1, terms_ = 0, rows_ = 0;
  std::int64_t unit_ = 0;  // of a step; below 0: squares
  Pair* to_ = nullptr;
};

}  // namespace ondine::math::ONDINE_ISA
