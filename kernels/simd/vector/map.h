// Loops over rows: whole vectors, then a part of one, through the same function. Operands may be
// bfloat16.
#pragma once

#include "kernels/simd/vector/widened.h"

namespace ondine::math::ONDINE_ISA {

// The prefetch distance of loops that take so many instructions for a vector that few loads are in
// flight, or that read more streams than hardware prefetchers follow.
template <class T>
inline constexpr std::int64_t far_ahead = 1024 / sizeof(T);

// f(load, store): load(p) gives p[i...], store(p, v) writes there. Loads ask for the line that is
// Ahead elements later, if more than 0.
template <class T, std::int64_t Ahead = 0, class F>
ONDINE_INLINE void for_vectors(std::int64_t n, F&& f) {
  constexpr int L = lanes<T>;
  std::int64_t i = 0;
  for (; i + L <= n; i += L) {
    f(
        [i](const auto* p) __attribute__((always_inline)) {
          if constexpr (Ahead > 0) __builtin_prefetch(p + i + Ahead);
          return load_widened(p + i);
        },
        [i](T * p, const Vec<T>& v) __attribute__((always_inline)) { store(p + i, v); });
  }
  if (i < n) {
    const std::int64_t rest = n - i;
    f(
        [ i, rest ](const auto* p)
            __attribute__((always_inline)) { return load_widened_n(p + i, rest); },
        [ i, rest ](T * p, const Vec<T>& v)
            __attribute__((always_inline)) { store_n(p + i, v, rest); });
  }
}

template <std::int64_t Ahead = 0, class T, class A, class F>
ONDINE_INLINE void map(T* dst, const A* a, std::int64_t n, F&& f) {
  for_vectors<T, Ahead>(
      n, [&](auto get, auto put) __attribute__((always_inline)) { put(dst, f(get(a))); });
}

// dst = f(src), f being applied to four vectors in place at a time, then to one: the processor
// overlaps only what is near. Prefetches what is far ahead.
template <class F>
ONDINE_INLINE void map_groups(float* dst, const float* src, std::int64_t n, F&& f) {
  constexpr int L = lanes<float>, count = 4;
  std::int64_t i = 0;
  for (; i + count * L <= n; i += count * L) {
    Vec<float> group[count];
#pragma GCC unroll 4
    for (int k = 0; k < count; ++k) {
      __builtin_prefetch(src + i + k * L + far_ahead<float>);
      group[k] = load(src + i + k * L);
    }
    f(group);
#pragma GCC unroll 4
    for (int k = 0; k < count; ++k) store(dst + i + k * L, group[k]);
  }
  for (; i < n; i += L) {
    const std::int64_t rest = n - i;
    Vec<float> one[] = {load_n(src + i, rest < L ? rest : L)};
    f(one);
    store_n(dst + i, one[0], rest < L ? rest : L);
  }
}

template <std::int64_t Ahead = 0, class T, class A, class B, class F>
ONDINE_INLINE void map(T* dst, const A* a, const B* b, std::int64_t n, F&& f) {
  for_vectors<T, Ahead>(
      n, [&](auto get, auto put) __attribute__((always_inline)) { put(dst, f(get(a), get(b))); });
}

template <class T, class F>
ONDINE_INLINE void map(T* dst, const T* a, const T* b, const T* c, std::int64_t n, F&& f) {
  for_vectors<T>(
      n, [&](auto get, auto put)
             __attribute__((always_inline)) { put(dst, f(get(a), get(b), get(c))); });
}

}  // namespace ondine::math::ONDINE_ISA
