// Packing of panels of bfloat16: elements are rounded to bfloat16 (to nearest, ties to even) on
// the way and lie as pairs of elements that follow each other in k.
#pragma once

#include "kernels/simd/matmul/gemm_pack.h"
#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/vector/pairs_bf16.h"
#include "kernels/simd/vector/widened.h"

namespace ondine::math::ONDINE_ISA {

ONDINE_INLINE std::int64_t pairs_of(std::int64_t k) { return (k + 1) / 2; }

// Where panels of a matrix go: `width` rows or columns each, the next `step` pairs later. Panels
// may have anything beyond the last row or column, which reaches no element of C that is stored.
struct Panels {
  Pair* to;
  std::int64_t width, step;
  std::int64_t rows_ahead;  // prefetched before they are packed
};

// Pairs of the first `count` of 2 L elements, zeros after them.
ONDINE_INLINE Vec<Pair> load_pairs(const float* from, std::int64_t count) {
  constexpr int L = lanes<float>;
  const Vec<float> low = load_n(from, count < L ? count : L);
  const Vec<float> high =
      count > L ? load_n(from + L, count - L < L ? count - L : L) : Vec<float>{};
  return join_pairs(low, high);
}

// Elements that are rounded while they are packed.
struct FloatElements {
  const float* at;

  FloatElements from(std::int64_t i) const { return {at + i}; }
  // 2 L elements that follow each other.
  ONDINE_MEMBER Vec<Pair> along() const { return join_pairs(load(at), load(at + lanes<float>)); }
  ONDINE_MEMBER Vec<Pair> along(std::int64_t count) const { return load_pairs(at, count); }
  // L elements from here and from `other`.
  ONDINE_MEMBER Vec<Pair> halves(const FloatElements& other) const {
    return join_pairs(load(at), load(other.at));
  }
  // Pairs of an element from here and one from `other`.
  ONDINE_MEMBER Vec<Pair> beside(const FloatElements& other) const {
    return pair_lanes(load(at), load(other.at));
  }
  ONDINE_MEMBER Vec<Pair> beside(const FloatElements& other, std::int64_t count,
                                 std::int64_t others) const {
    return pair_lanes(load_n(at, count), load_n(other.at, others));
  }
  // 2 L of them.
  ONDINE_MEMBER void store_beside(Pair* to, const FloatElements& other) const {
    constexpr int L = lanes<float>;
    store(to, beside(other));
    store(to + L, from(L).beside(other.from(L)));
  }
};

// Elements that are bfloat16 already.
struct Bf16Elements {
  const std::uint16_t* at;

  Bf16Elements from(std::int64_t i) const { return {at + i}; }
  ONDINE_MEMBER Vec<Pair> along() const { return load(pairs()); }
  ONDINE_MEMBER Vec<Pair> along(std::int64_t count) const {
#if defined(__AVX512F__)
    const auto mask = static_cast<__mmask32>(count < 32 ? (1u << count) - 1u : ~0u);
    return reinterpret_cast<Vec<Pair>>(_mm512_maskz_loadu_epi16(mask, at));
#else
    std::uint16_t some[2 * lanes<float>] = {};
    for (std::int64_t i = 0; i < count && i < 2 * lanes<float>; ++i) some[i] = at[i];
    return Bf16Elements{some}.along();
#endif
  }
  ONDINE_MEMBER Vec<Pair> halves(const Bf16Elements& other) const {
    return load_halves(pairs(), other.pairs());
  }
  ONDINE_MEMBER Vec<Pair> beside(const Bf16Elements& other) const {
    return reinterpret_cast<Vec<Pair>>(bits_of(load_widened(at)) >> 16 |
                                       bits_of(load_widened(other.at)));
  }
  ONDINE_MEMBER Vec<Pair> beside(const Bf16Elements& other, std::int64_t count,
                                 std::int64_t others) const {
    return reinterpret_cast<Vec<Pair>>(bits_of(load_widened_n(at, count)) >> 16 |
                                       bits_of(load_widened_n(other.at, others)));
  }
  ONDINE_MEMBER void store_beside(Pair* to, const Bf16Elements& other) const {
    constexpr int L = lanes<float>;
#if defined(__AVX512F__)
    const __m512i first =
        _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6,
                         37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
    const auto mine = reinterpret_cast<__m512i>(load(pairs()));
    const auto others = reinterpret_cast<__m512i>(load(other.pairs()));
    store(to, reinterpret_cast<Vec<Pair>>(_mm512_permutex2var_epi16(mine, first, others)));
    store(to + L, reinterpret_cast<Vec<Pair>>(_mm512_permutex2var_epi16(mine, second, others)));
#else
    store(to, beside(other));
    store(to + L, from(L).beside(other.from(L)));
#endif
  }

 private:
  // Only loaded from, by way of bytes.
  ONDINE_MEMBER const Pair* pairs() const { return reinterpret_cast<const Pair*>(at); }
  ONDINE_MEMBER static Vec<std::uint32_t> bits_of(const Vec<float>& v) {
    return reinterpret_cast<Vec<std::uint32_t>>(v);
  }
};

// Panels, each pairs x width, of a matrix whose `count` rows or columns lie one beside the other:
// element (p, c) is src[p ld + c].
template <class Elements>
static void pack_beside(const Panels& panels, Elements src, std::int64_t ld, std::int64_t count,
                        std::int64_t k) {
  constexpr int L = lanes<float>;
  constexpr std::int64_t line = 64 / std::int64_t{sizeof(*src.at)};
  const std::int64_t ahead = panels.rows_ahead * ld;
  const std::int64_t pairs = pairs_of(k);
  const std::int64_t width = panels.width;
  for (std::int64_t q = 0; q < pairs; ++q) {
    const Elements first = src.from(2 * q * ld);
    const bool both = 2 * q + 1 < k;
    // An odd k has a row of zeros after it, by way of a mask.
    const Elements second = both ? first.from(ld) : first;
    Pair* to = panels.to + q * width;
    std::int64_t c = 0;
    for (; c < count; c += line) {
      __builtin_prefetch(first.at + ahead + c, 0, 2);
      __builtin_prefetch(second.at + ahead + c, 0, 2);
    }
    c = 0;
    if (q + 1 < pairs && width <= L) {
      // Elements that spill over are overwritten later.
      for (; c + L <= count; c += width, to += panels.step) {
        store(to, first.from(c).beside(second.from(c)));
      }
    } else if (both && width == 2 * L) {
      for (; c + width <= count; c += width, to += panels.step) {
        first.from(c).store_beside(to, second.from(c));
      }
    }
    for (; c < count; c += width, to += panels.step) {
      for (std::int64_t r = 0; r < width; r += L) {
        const std::int64_t left = count - c - r;
        const std::int64_t some = left < 0 ? 0 : left < L ? left : L;
        store_n(to + r, first.from(c + r).beside(second.from(c + r), some, both ? some : 0),
                width - r < L ? width - r : L);
      }
    }
  }
}

// pack_beside for a matrix whose elements follow each other in k: (p, c) is src[c ld + p].
template <class Elements>
static void pack_along(const Panels& panels, Elements src, std::int64_t ld, std::int64_t count,
                       std::int64_t k) {
  constexpr int L = lanes<float>, half = L / 2;
  const std::int64_t pairs = pairs_of(k);
  const std::int64_t whole = k / (2 * L) * L;
  const std::int64_t width = panels.width;
  Pair* dst = panels.to;
  for (std::int64_t c = 0; c < count; c += width, dst += panels.step) {
    // The last vector of rows spills over; what it spoils is written later.
    for (std::int64_t r = (width - 1) / L * L; r >= 0; r -= L) {
      const std::int64_t left = count - c - r;
      if (left <= 0) continue;
      Elements rows[L];
      for (int i = 0; i < L; ++i) rows[i] = src.from((c + r + (i < left ? i : left - 1)) * ld);
      for (std::int64_t q = 0; q < whole; q += L) {
        Pair* const to = hidden(dst + r + q * width);
        if constexpr (L == part_lanes<Pair>) {
          Vec<Pair> block[L];
          for (int i = 0; i < L; ++i) block[i] = rows[i].from(2 * q).along();
          transpose<Pair>(block);
          for (int i = 0; i < L; ++i) store(to + i * width, block[i]);
        } else {
          turn_halves<Pair>(
              to, width, [&](int i, int h) __attribute__((always_inline)) {
                const std::int64_t at = 2 * (q + h);
                return rows[i].from(at).halves(rows[i + half].from(at));
              });
        }
      }
      if (whole == pairs) continue;
      Vec<Pair> last[L];
      for (int i = 0; i < L; ++i) last[i] = rows[i].from(2 * whole).along(k - 2 * whole);
      transpose<Pair>(last);
      for (std::int64_t q = whole; q < pairs; ++q) store(dst + r + q * width, last[q - whole]);
    }
  }
}

// body(elements of A from row i and term p on).
template <class Body>
ONDINE_INLINE void visit_a(const GemmCall<float>& g, std::int64_t i, std::int64_t p, Body&& body) {
  const Elements<const float> a = g.a + (i * g.a_row + p * g.a_col);
  if (a.is_bf16()) {
    body(Bf16Elements{a.bf16()});
  } else {
    body(FloatElements{a.plain()});
  }
}

// Rows of k elements as rows of pairs.
template <class Elements>
static void round_rows(Pair* dst, std::int64_t dst_ld, Elements src, std::int64_t ld,
                       std::int64_t rows, std::int64_t k) {
  constexpr int L = lanes<float>;
  const std::int64_t pairs = pairs_of(k);
  for (std::int64_t r = 0; r < rows; ++r) {
    const Elements from = src.from(r * ld);
    Pair* const to = dst + r * dst_ld;
    std::int64_t q = 0;
    for (; 2 * (q + L) <= k; q += L) store(to + q, from.from(2 * q).along());
    if (q < pairs) store_n(to + q, from.from(2 * q).along(k - 2 * q), pairs - q);
  }
}

}  // namespace ondine::math::ONDINE_ISA
