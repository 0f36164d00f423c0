// Elements of a row that windows of 3 x 3 taps with stride 2 read for a strip of results as wide as
// a vector: two vectors of the row. Their elements are under the middle and the right tap in turns;
// the left tap reads the element before.
#pragma once

#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/vector/lane_mask.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using V = Vec<float>;

#if defined(__AVX512F__)
// For the results from column j on. Masked: the strip may reach beyond the row.
template <bool Masked>
class StripPairs {
 public:
  ONDINE_MEMBER StripPairs(const ConvPlane& p, N j)
      : low_(lanes_between(0, p.in_w - 2 * j)),
        high_(lanes_between(0, p.in_w - 2 * j - lanes<float>)),
        results_(lanes_between(0, p.out_w - j)),
        before_(j > 0) {}

  static bool fits(const ConvPlane& p, N j) {
    return 2 * (j + lanes<float>) <= p.in_w && j + lanes<float> <= p.out_w;
  }
  static N column(N j) { return 2 * j; }  // of a row from where load_row begins

  ONDINE_MEMBER void load_row(const float* at, V (&row)[3]) const {
    const float* const next = at + lanes<float>;
    const auto low = reinterpret_cast<__m512>(Masked ? load_masked(at, low_) : load(at));
    const auto high = reinterpret_cast<__m512>(Masked ? load_masked(next, high_) : load(next));
    row[1] = in_order(_mm512_maskz_shuffle_ps(0xffff, low, high, 0x88));
    row[2] = in_order(_mm512_maskz_shuffle_ps(0xffff, low, high, 0xdd));
    const auto before = reinterpret_cast<__m512i>(broadcast(before_ ? at[-1] : 0.0F));
    row[0] = reinterpret_cast<V>(_mm512_maskz_alignr_epi32(
        0xffff, reinterpret_cast<__m512i>(row[2]), before, lanes<float> - 1));
  }
  ONDINE_MEMBER void store_results(float* to, const V& v) const {
    Masked ? store_masked(to, v, results_) : store(to, v);
  }

 private:
  // Orders pairs that come from `low` and `high` in turns: those of `low` first.
  ONDINE_MEMBER static V in_order(const __m512& pairs) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    return reinterpret_cast<V>(
        _mm512_maskz_permutexvar_epi64(0xff, order, _mm512_castps_si512(pairs)));
  }

  LaneMask low_, high_, results_;
  bool before_;  // whether there is an element before the strip
};

// Strip of rows whose even columns come first. Masked: the strip is the first of the row or may
// reach beyond it.
template <bool Masked>
class SplitPairs {
 public:
  ONDINE_MEMBER SplitPairs(const ConvPlane& p, N j)
      : odd_((p.in_w + 1) / 2),
        even_lanes_(lanes_between(0, odd_ - j)),
        odd_lanes_(lanes_between(0, p.in_w / 2 - j)),
        before_(lanes_between(j > 0 ? 0 : 1, p.in_w / 2 + 1 - j)),
        results_(lanes_between(0, p.out_w - j)) {}

  static bool fits(const ConvPlane& p, N j) {
    return j > 0 && j + lanes<float> <= min(p.in_w / 2, p.out_w);
  }
  static N column(N j) { return j; }

  ONDINE_MEMBER void load_row(const float* at, V (&row)[3]) const {
    const float* const odd = at + odd_;
    row[0] = Masked ? load_masked(odd - 1, before_) : load(odd - 1);
    row[1] = Masked ? load_masked(at, even_lanes_) : load(at);
    row[2] = Masked ? load_masked(odd, odd_lanes_) : load(odd);
  }
  ONDINE_MEMBER void store_results(float* to, const V& v) const {
    Masked ? store_masked(to, v, results_) : store(to, v);
  }

 private:
  N odd_;  // the first odd column
  LaneMask even_lanes_, odd_lanes_, before_, results_;
};

// Places of the even and of the odd columns among 64 elements of 16 bits; a column takes `size`
// elements.
struct ColumnOrder {
  alignas(64) std::uint16_t even[32];
  alignas(64) std::uint16_t odd[32];
};
constexpr ColumnOrder order_of(int size) {
  ColumnOrder order{};
  for (int i = 0; i < 32; ++i) {
    const int column = i / size * 2 * size + i % size;
    order.even[i] = static_cast<std::uint16_t>(column);
    order.odd[i] = static_cast<std::uint16_t>(column + size);
  }
  return order;
}

// DepthwiseStripKernels::split_rows.
inline void split_rows(void* to, const void* from, N rows, N width, N element) {
  static constexpr ColumnOrder orders[] = {order_of(1), order_of(2)};
  const N size = element / 2;
  const __m512i even = _mm512_load_si512(orders[size - 1].even);
  const __m512i odd = _mm512_load_si512(orders[size - 1].odd);
  const auto mask_of = [](N n) { return n >= 32 ? ~__mmask32{} : (__mmask32{1} << max(n, 0)) - 1; };
  const N all = width * size, evens = (width + 1) / 2 * size;
  const auto* source = static_cast<const std::uint16_t*>(from);
  auto* target = static_cast<std::uint16_t*>(to);
  for (N row = 0; row < rows; ++row, source += all, target += all) {
    for (N i = 0; i < all; i += 64) {
      const __m512i low = _mm512_maskz_loadu_epi16(mask_of(all - i), source + i);
      const __m512i high = _mm512_maskz_loadu_epi16(mask_of(all - i - 32), source + i + 32);
      const N at = i / 2;
      _mm512_mask_storeu_epi16(target + at, mask_of(evens - at),
                               _mm512_permutex2var_epi16(low, even, high));
      _mm512_mask_storeu_epi16(target + evens + at, mask_of(all - evens - at),
                               _mm512_permutex2var_epi16(low, odd, high));
    }
  }
}
#elif defined(__AVX2__)
// First: there is no element before the strip. Last: it may reach beyond the row.
template <bool First, bool Last>
class EdgePairs {
 public:
  static N column(N j) { return 2 * j; }

  ONDINE_MEMBER EdgePairs(const ConvPlane& p, N j)
      : low_(lanes_between(0, p.in_w - 2 * j)),
        high_(lanes_between(0, p.in_w - 2 * j - lanes<float>)),
        results_(min(p.out_w - j, lanes<float>)) {}

  ONDINE_MEMBER void load_row(const float* at, V (&row)[3]) const {
    constexpr N L = lanes<float>;
    // Quarters 0 and 2 of the elements, then 1 and 3: of these, a shuffle takes every other in
    // order.
    __m256 a, b;
    if constexpr (Last) {
      const auto low = reinterpret_cast<__m256>(load_masked(at, low_));
      const auto high = reinterpret_cast<__m256>(load_masked(at + L, high_));
      a = _mm256_permute2f128_ps(low, high, 0x20);
      b = _mm256_permute2f128_ps(low, high, 0x31);
    } else {
      a = reinterpret_cast<__m256>(load_halves(at, at + L));
      b = reinterpret_cast<__m256>(load_halves(at + L / 2, at + L + L / 2));
    }
    const __m256 odd = _mm256_shuffle_ps(a, b, 0xdd);
    row[1] = reinterpret_cast<V>(_mm256_shuffle_ps(a, b, 0x88));
    row[2] = reinterpret_cast<V>(odd);
    // Lane 3 holds the element before; the lower half of `odd` follows.
    const __m256 before =
        First ? _mm256_permute2f128_ps(odd, odd, 0x08)
              : _mm256_insertf128_ps(_mm256_broadcast_ss(at - 1), _mm256_castps256_ps128(odd), 1);
    row[0] = reinterpret_cast<V>(
        _mm256_alignr_epi8(_mm256_castps_si256(odd), _mm256_castps_si256(before), 12));
  }
  ONDINE_MEMBER void store_results(float* to, const V& v) const {
    if constexpr (Last) return store_n(to, v, results_);
    store(to, v);
  }

 private:
  LaneMask low_, high_;
  N results_;
};
#endif

}  // namespace
}  // namespace ondine::math::ONDINE_ISA
