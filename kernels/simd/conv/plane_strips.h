// Strips of columns of a plane, as wide as a vector, as windows of K x K taps around each position
// read them: lanes whose tap lies outside of the row are zeros.
#pragma once

#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/vector/lane_mask.h"

namespace ondine::math::ONDINE_ISA {
#if defined(__AVX2__)

// For each column of K taps, the lanes of the strip from column j on whose tap lies in the row.
template <int K>
struct StripMasks {
  ONDINE_MEMBER StripMasks(N j, N width) {
    for (int k = 0; k < K; ++k) {
      const N shift = k - K / 2;
      of[k] = lanes_between(-shift - j, width - j - shift);
    }
  }
  LaneMask of[K];
};

#if defined(__AVX512F__)
// Masks cost nothing: every strip has them.
template <int K>
class MaskedStrip {
 public:
  ONDINE_MEMBER MaskedStrip(N j, N width) : masks_(j, width) {}

  // Loads the elements under each column of taps.
  ONDINE_MEMBER void load_row(const float* at, Vec<float> (&row)[K]) const {
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) row[k] = load_masked(at + k - K / 2, masks_.of[k]);
  }
  // Loads the elements of the columns themselves.
  ONDINE_MEMBER Vec<float> load_middle(const float* at) const {
    return load_masked(at, masks_.of[K / 2]);
  }
  ONDINE_MEMBER void store_middle(float* at, const Vec<float>& v) const {
    store_masked(at, v, masks_.of[K / 2]);
  }

 private:
  StripMasks<K> masks_;
};
#else
// Masks take registers, so a load has one only where it may leave the row: at its Left or Right
// end, or anywhere in a Narrow strip, whose row ends before the vector does.
template <int K, bool Left, bool Right, bool Narrow>
class EdgeStrip {
 public:
  ONDINE_MEMBER EdgeStrip(N j, N width) : masks_(j, width), count_(min(width - j, lanes<float>)) {}

  ONDINE_MEMBER void load_row(const float* at, Vec<float> (&row)[K]) const {
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      const bool leaves = (k < K / 2 && Left) || (k > K / 2 && Right) || Narrow;
      const float* const from = at + k - K / 2;
      row[k] = leaves ? load_masked(from, masks_.of[k]) : load(from);
    }
  }
  ONDINE_MEMBER Vec<float> load_middle(const float* at) const {
    return Narrow ? load_masked(at, masks_.of[K / 2]) : load(at);
  }
  ONDINE_MEMBER void store_middle(float* at, const Vec<float>& v) const {
    Narrow ? store_n(at, v, count_) : store(at, v);
  }

 private:
  StripMasks<K> masks_;
  N count_;
};

// body(strip) for the strip from column j on.
template <int K, class Body>
ONDINE_INLINE void with_strip(N j, N width, Body&& body) {
  constexpr N L = lanes<float>, half = K / 2;
  const bool left = j < half;
  if (j + L > width) return body(EdgeStrip<K, true, true, true>(j, width));
  if (j + L + half <= width) {
    return left ? body(EdgeStrip<K, true, false, false>(j, width))
                : body(EdgeStrip<K, false, false, false>(j, width));
  }
  left ? body(EdgeStrip<K, true, true, false>(j, width))
       : body(EdgeStrip<K, false, true, false>(j, width));
}
#endif

#endif
}  // namespace ondine::math::ONDINE_ISA
