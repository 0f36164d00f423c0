// Packing of panels: dst[p width + r], p < k, r < width; rows from `count` on are zeros. Both may
// write up to a vector behind the end of dst.
#pragma once

#include "kernels/math/isa/simd.h"

namespace ondine::math::ONDINE_ISA {

// src[r ld + p]
template <class T>
static void pack_rows(T* dst, const T* src, std::int64_t ld, std::int64_t count, std::int64_t width,
                      std::int64_t k) {
  constexpr int L = lanes<T>;
  const std::int64_t groups = (width + L - 1) / L;
  for (std::int64_t p = 0; p < k; p += L) {
    const std::int64_t steps = k - p < L ? k - p : L;
    // A store of the last group spills over; what it spoils is written later.
    for (std::int64_t g = groups - 1; g >= 0; --g) {
      Vec<T> block[L];
      if (steps == L && (g + 1) * L <= count) {
#pragma GCC unroll 16
        for (int i = 0; i < L; ++i) block[i] = load(src + (g * L + i) * ld + p);
        transpose<T>(block);
#pragma GCC unroll 16
        for (int i = 0; i < L; ++i) store(dst + (p + i) * width + g * L, block[i]);
        continue;
      }
      for (int i = 0; i < L; ++i) {
        const std::int64_t row = g * L + i;
        block[i] = row < count ? load_n(src + row * ld + p, steps) : Vec<T>{};
      }
      transpose<T>(block);
      for (std::int64_t i = 0; i < steps; ++i) store(dst + (p + i) * width + g * L, block[i]);
    }
  }
}

// src[p ld + r]
template <class T>
static void pack_columns(T* dst, const T* src, std::int64_t ld, std::int64_t count,
                         std::int64_t width, std::int64_t k) {
  constexpr int L = lanes<T>;
  constexpr std::int64_t ahead = 12;
  if (count == width && width == 2 * L) {
    for (std::int64_t p = 0; p < k; ++p, dst += width, src += ld) {
      __builtin_prefetch(src + ahead * ld);
      __builtin_prefetch(src + ahead * ld + L);
      const Vec<T> low = load(src);
      const Vec<T> high = load(src + L);
      store(dst, low);
      store(dst + L, high);
    }
    return;
  }
  for (std::int64_t p = 0; p < k; ++p, dst += width, src += ld) {
    for (std::int64_t r = 0; r < width; r += L) {
      const std::int64_t left = count - r;
      store(dst + r, left >= L ? load(src + r) : left > 0 ? load_n(src + r, left) : Vec<T>{});
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
