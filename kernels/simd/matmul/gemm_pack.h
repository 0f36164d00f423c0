// Packing of panels: dst[p width + r], p < k, r < width. May write up to a vector past the end of
// dst.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

template <class T>
inline constexpr int part_lanes = 16 / static_cast<int>(sizeof(T));  // of 128 bits

// Returns `p`. Keeps the compiler from stepping one address for each row through the loop.
template <class T>
ONDINE_INLINE T* hidden(T* p) {
  asm("" : "+r"(p));
  return p;
}

// Interleaves a and b in each part, as _mm_unpacklo (hi) does.
template <class T, bool High, int... I>
ONDINE_INLINE Vec<T> interleave(const Vec<T>& a, const Vec<T>& b,
                                std::integer_sequence<int, I...>) {
  constexpr int P = part_lanes<T>;
#if defined(__AVX512F__)
  if constexpr (P == 4) {
    const auto x = reinterpret_cast<__m512>(a), y = reinterpret_cast<__m512>(b);
    return reinterpret_cast<Vec<T>>(High ? _mm512_maskz_unpackhi_ps(0xffff, x, y)
                                         : _mm512_maskz_unpacklo_ps(0xffff, x, y));
  }
#endif
  return __builtin_shufflevector(
      a, b, (I / P * P + I % P / 2 + (High ? P / 2 : 0) + (I % 2 ? lanes<T> : 0))...);
}

// Rows a and b exchange parts: the even ones of both, the odd ones of both.
template <class T>
ONDINE_INLINE void exchange_parts(Vec<T>& a, Vec<T>& b) {
#if defined(__AVX512F__)
  const auto x = reinterpret_cast<__m512d>(a), y = reinterpret_cast<__m512d>(b);
  a = reinterpret_cast<Vec<T>>(_mm512_mask_permutex_pd(x, 0xcc, y, 0x44));
  b = reinterpret_cast<Vec<T>>(_mm512_mask_permutex_pd(y, 0x33, x, 0xee));
#else
  exchange<T, part_lanes<T>>(a, b, std::make_integer_sequence<int, lanes<T>>());
#endif
}

// dst[j step + i] = row(i)[j] for a square of vectors of more than one part. halves(i, h): lanes
// from h of rows i and i + half, of which two rows make a vector; what is left to exchange stays in
// the halves.
template <class T, class Halves>
ONDINE_INLINE void turn_halves(T* dst, std::int64_t step, Halves&& halves) {
  constexpr int L = lanes<T>, half = L / 2, P = part_lanes<T>;
  constexpr auto every = std::make_integer_sequence<int, L>();
#pragma GCC unroll 2
  for (int h = 0; h < L; h += half) {
    Vec<T> r[half];
#pragma GCC unroll 16
    for (int i = 0; i < half; ++i) r[i] = halves(i, h);
    if constexpr (half > P) {
#pragma GCC unroll 16
      for (int i = 0; i < P; ++i) exchange_parts<T>(r[i], r[i + P]);
    }
#pragma GCC unroll 16
    for (int g = 0; g < half; g += P) {
      Vec<T>* const s = r + g;
      T* const to = dst + (h + g) * step;
      if constexpr (P == 4) {
        const Vec<T> a = interleave<T, false>(s[0], s[2], every);
        const Vec<T> b = interleave<T, true>(s[0], s[2], every);
        const Vec<T> c = interleave<T, false>(s[1], s[3], every);
        const Vec<T> d = interleave<T, true>(s[1], s[3], every);
        store(to, interleave<T, false>(a, c, every));
        store(to + step, interleave<T, true>(a, c, every));
        store(to + 2 * step, interleave<T, false>(b, d, every));
        store(to + 3 * step, interleave<T, true>(b, d, every));
      } else {
        store(to, interleave<T, false>(s[0], s[1], every));
        store(to + step, interleave<T, true>(s[0], s[1], every));
      }
    }
  }
}

// dst[j step + i] = row(i)[j] for a square of vectors.
template <class T, class Row>
ONDINE_INLINE void turn(T* dst, std::int64_t step, Row&& row) {
  constexpr int L = lanes<T>, half = L / 2;
  if constexpr (L == part_lanes<T>) {
    Vec<T> r[L];
#pragma GCC unroll 16
    for (int i = 0; i < L; ++i) r[i] = load(row(i));
    transpose<T>(r);
#pragma GCC unroll 16
    for (int i = 0; i < L; ++i) store(dst + i * step, r[i]);
  } else {
    turn_halves<T>(
        dst, step, [&](int i, int h) __attribute__((always_inline)) {
          return load_halves(row(i) + h, row(i + half) + h);
        });
  }
}

// Asks for what lies further on in the rows of a vector of them: so many rows are more streams than
// the hardware follows.
template <class T>
ONDINE_INLINE void ask_ahead(const T* rows, std::int64_t ld) {
  constexpr std::int64_t ahead = 512 / std::int64_t{sizeof(T)};
#pragma GCC unroll 16
  for (int i = 0; i < lanes<T>; ++i) __builtin_prefetch(rows + i * ld + ahead);
}

// src[r ld + p], r < count; rows from `count` to the next whole vector are zeros or, with
// `any_rest`, anything.
template <class T>
ONDINE_INLINE void pack_rows(T* dst, const T* src, std::int64_t ld, std::int64_t count,
                             std::int64_t width, std::int64_t k, bool any_rest) {
  constexpr int L = lanes<T>;
  const std::int64_t groups = (width + L - 1) / L;
  const std::int64_t whole = k / L * L;
  // Rows so far apart that hardware prefetchers do not bring the next one.
  const bool far = ld * std::int64_t{sizeof(T)} >= 1024;
  // The last vector of rows spills over; what it spoils is written later.
  for (std::int64_t g = groups - 1; g >= 0; --g) {
    T* const to = dst + g * L;
    const T* const from = src + g * L * ld;
    const std::int64_t left = count - g * L;
    std::int64_t p = 0;
    if (left >= L) {
      for (; p < whole; p += L) {
        const T* const at = hidden(from + p);
        if (far) ask_ahead(at, ld);
        turn(
            hidden(to + p * width),
            width, [&](int i) __attribute__((always_inline)) { return at + i * ld; });
      }
    } else if (any_rest && left > 0) {
      const T* rows[L];
      for (int i = 0; i < L; ++i) rows[i] = from + (i < left ? i : left - 1) * ld;
      for (; p < whole; p += L) {
        turn(
            hidden(to + p * width),
            width, [&](int i) __attribute__((always_inline)) { return rows[i] + p; });
      }
    }
    for (; p < k; p += L) {
      const std::int64_t steps = k - p < L ? k - p : L;
      Vec<T> block[L];
      for (int i = 0; i < L; ++i) block[i] = i < left ? load_n(from + i * ld + p, steps) : Vec<T>{};
      transpose<T>(block);
      for (std::int64_t i = 0; i < steps; ++i) store(to + (p + i) * width, block[i]);
    }
  }
}

// Panels of `width` side by side, each k x width, `step` elements from one to the next: src[p ld +
// c], c < count; the last one is filled up with zeros to the next whole vector.
template <class T>
static void pack_columns(T* dst, const T* src, std::int64_t ld, std::int64_t count,
                         std::int64_t width, std::int64_t k, std::int64_t step) {
  constexpr int L = lanes<T>;
  // Packs a few rows of one panel after the other: panels often lie apart by whole pages, which
  // share sets of the first cache. The same rows of the next panel are in the same lines.
  constexpr std::int64_t rows = 8, line = 64 / std::int64_t{sizeof(T)};
  for (std::int64_t begin = 0; begin < k; begin += rows) {
    const std::int64_t end = begin + rows < k ? begin + rows : k;
    T* panel = dst + begin * width;
    for (std::int64_t c = 0; c < count; c += width, panel += step) {
      T* to = panel;
      if (width <= L && c + L <= count && end < k) {
        const T* from = src + begin * ld + c;
#pragma GCC unroll 8
        for (int p = 0; p < rows; ++p, from += ld, to += width) {
          __builtin_prefetch(from + rows * ld);
          store(to, load(from));  // what spills over is written later
        }
        continue;
      }
      for (std::int64_t p = begin; p < end; ++p, to += width) {
        const T* const from = src + p * ld + c;
        for (std::int64_t r = 0; r < width; r += line) __builtin_prefetch(from + rows * ld + r);
        if (width <= L && p + 1 < k && c + L <= count) {
          store(to, load(from));  // what spills over is written later
          continue;
        }
        if (width == 2 * L && c + width <= count) {
          store(to, load(from));
          store(to + L, load(from + L));
          continue;
        }
        for (std::int64_t r = 0; r < width; r += L) {
          const std::int64_t left = count - c - r, room = width - r;
          const Vec<T> v = left >= L  ? load(from + r)
                           : left > 0 ? load_n(from + r, left)
                                      : Vec<T>{};
          store_n(to + r, v, room < L ? room : L);
        }
      }
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
