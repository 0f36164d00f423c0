// Conversion between planes (one channel after another) and interleaved channels, of which the L of
// one position are a vector. L is the number of lanes.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

// One vector of positions of `channels` planes; r[j] becomes position j.
template <class T>
ONDINE_INLINE void load_channels(Vec<T>* r, const T* src, std::int64_t plane, std::int64_t channels,
                                 std::int64_t count) {
  constexpr int L = lanes<T>;
  if (count == L && channels == L) {
#pragma GCC unroll 16
    for (int c = 0; c < L; ++c) r[c] = load(src + c * plane);
  } else {
    for (int c = 0; c < L; ++c) r[c] = c < channels ? load_n(src + c * plane, count) : Vec<T>{};
  }
}

// Position p < n of the planes, p being row-major over rows of `width`, goes to
// dst[(p / width pitch + p % width) L]. Ahead: planes come from memory, and are more streams than
// the hardware follows.
template <class T, bool Ahead = false>
static void interleave_channels(T* dst, const T* src, std::int64_t plane, std::int64_t channels,
                                std::int64_t n, std::int64_t width, std::int64_t pitch) {
  constexpr int L = lanes<T>;
  std::int64_t column = 0;
  for (std::int64_t p = 0; p < n; p += L) {
    const std::int64_t count = n - p < L ? n - p : L;
    if constexpr (Ahead) {
      constexpr std::int64_t ahead = 512 / std::int64_t{sizeof(T)};
      for (std::int64_t c = 0; c < channels; ++c) __builtin_prefetch(src + c * plane + p + ahead);
    }
    Vec<T> r[L];
    load_channels(r, src + p, plane, channels, count);
    transpose<T>(r);
    if (column + L <= width && count == L) {
#pragma GCC unroll 16
      for (int j = 0; j < L; ++j) store(dst + j * L, r[j]);
      dst += L * L;
      column += L;
      if (column == width) {
        column = 0;
        dst += (pitch - width) * L;
      }
      continue;
    }
    for (std::int64_t j = 0; j < count; ++j) {
      store(dst, r[j]);
      dst += L;
      if (++column == width) {
        column = 0;
        dst += (pitch - width) * L;
      }
    }
  }
}

// The reverse of interleave_channels. Ahead: planes go to memory.
template <class T, bool Ahead = false>
static void deinterleave_channels(T* dst, const T* src, std::int64_t plane, std::int64_t channels,
                                  std::int64_t n, std::int64_t width, std::int64_t pitch) {
  constexpr int L = lanes<T>;
  std::int64_t column = 0;
  for (std::int64_t p = 0; p < n; p += L) {
    const std::int64_t count = n - p < L ? n - p : L;
    if constexpr (Ahead) {
      constexpr std::int64_t ahead = 512 / std::int64_t{sizeof(T)};
      for (std::int64_t c = 0; c < channels; ++c)
        __builtin_prefetch(dst + c * plane + p + ahead, 1);
    }
    Vec<T> r[L];
    if (column + L <= width && count == L) {
#pragma GCC unroll 16
      for (int j = 0; j < L; ++j) r[j] = load(src + j * L);
      src += L * L;
      column += L;
      if (column == width) {
        column = 0;
        src += (pitch - width) * L;
      }
    } else {
      for (std::int64_t j = 0; j < L; ++j) {
        if (j >= count) {
          r[j] = Vec<T>{};
          continue;
        }
        r[j] = load(src);
        src += L;
        if (++column == width) {
          column = 0;
          src += (pitch - width) * L;
        }
      }
    }
    transpose<T>(r);
    if (count == L && channels == L) {
#pragma GCC unroll 16
      for (int c = 0; c < L; ++c) store(dst + c * plane + p, r[c]);
    } else {
      for (int c = 0; c < L && c < channels; ++c) store_n(dst + c * plane + p, r[c], count);
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
