// Copies of short and of strided rows.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

// Strides are 1 or 2 nearly always, and a division is slow.
ONDINE_INLINE std::int64_t quotient(std::int64_t a, std::int64_t stride) {
  return stride == 1 ? a : stride == 2 ? a >> 1 : a / stride;
}
ONDINE_INLINE std::int64_t remainder(std::int64_t a, std::int64_t stride) {
  return stride == 1 ? 0 : stride == 2 ? a & 1 : a % stride;
}
ONDINE_INLINE std::int64_t divide_up(std::int64_t a, std::int64_t stride) {
  return quotient(a + stride - 1, stride);
}

template <class T>
ONDINE_INLINE void set_zero(T* dst, std::int64_t n) {
  if (n > 0) __builtin_memset(dst, 0, static_cast<std::size_t>(n) * sizeof(T));
}

template <class T>
ONDINE_INLINE void copy_short(T* dst, const T* src, std::int64_t n) {
  constexpr int L = lanes<T>;
  std::int64_t i = 0;
  for (; i + L <= n; i += L) store(dst + i, load(src + i));
  if (i < n) store_n(dst + i, load_n(src + i, n - i), n - i);
}

// even[i] = src[2 i], odd[i] = src[2 i + 1]
template <class T, int... I>
ONDINE_INLINE void split_pairs(T* even, T* odd, const T* src, std::int64_t n,
                               std::integer_sequence<int, I...>) {
  constexpr int L = lanes<T>;
  std::int64_t i = 0;
  for (; i + L <= n; i += L) {
    const Vec<T> a = load(src + 2 * i);
    const Vec<T> b = load(src + 2 * i + L);
    store<T>(even + i, __builtin_shufflevector(a, b, (2 * I)...));
    store<T>(odd + i, __builtin_shufflevector(a, b, (2 * I + 1)...));
  }
  for (; i < n; ++i) {
    even[i] = src[2 * i];
    odd[i] = src[2 * i + 1];
  }
}

// dst[i] = src[2 i]; reads nothing past src[2 n - 2].
template <class T, int... I>
ONDINE_INLINE void take_even(T* dst, const T* src, std::int64_t n,
                             std::integer_sequence<int, I...>) {
  constexpr int L = lanes<T>;
  std::int64_t i = 0;
  for (; i + L < n; i += L) {
    store<T>(dst + i,
             __builtin_shufflevector(load(src + 2 * i), load(src + 2 * i + L), (2 * I)...));
  }
  if (vector_bytes == 16) {
    for (; i < n; ++i) dst[i] = src[2 * i];
  } else if (i < n) {
    const std::int64_t rest = n - i;
    const std::int64_t span = 2 * rest - 1;
    const Vec<T> a = load_n(src + 2 * i, span < L ? span : L);
    const Vec<T> b = span > L ? load_n(src + 2 * i + L, span - L) : Vec<T>{};
    const Vec<T> v = __builtin_shufflevector(a, b, (2 * I)...);
    store_n<T>(dst + i, v, rest);
  }
}
template <class T>
ONDINE_INLINE void take_even(T* dst, const T* src, std::int64_t n) {
  take_even(dst, src, n, std::make_integer_sequence<int, lanes<T>>());
}

// dst[2 i] += src[i]; touches nothing past dst[2 n - 2].
template <class T, int... I>
ONDINE_INLINE void add_even(T* dst, const T* src, std::int64_t n,
                            std::integer_sequence<int, I...>) {
  constexpr int L = lanes<T>;
  std::int64_t i = 0;
  const Vec<T> zero{};
  for (; i + L < n; i += L) {
    const Vec<T> v = load(src + i);
    T* const to = dst + 2 * i;
    store<T>(to, load(to) + __builtin_shufflevector(v, zero, (I / 2 + I % 2 * L)...));
    store<T>(to + L, load(to + L) + __builtin_shufflevector(v, zero, ((I + L) / 2 + I % 2 * L)...));
  }
  for (; i < n; ++i) dst[2 * i] += src[i];
}
template <class T>
ONDINE_INLINE void add_even(T* dst, const T* src, std::int64_t n) {
  add_even(dst, src, n, std::make_integer_sequence<int, lanes<T>>());
}

// dst[2 i] = even[i], dst[2 i + 1] = odd[i]
template <class T, int... I>
ONDINE_INLINE void join_pairs(T* dst, const T* even, const T* odd, std::int64_t n,
                              std::integer_sequence<int, I...>) {
  constexpr int L = lanes<T>;
  std::int64_t i = 0;
  for (; i + L <= n; i += L) {
    const Vec<T> a = load(even + i);
    const Vec<T> b = load(odd + i);
    store<T>(dst + 2 * i, __builtin_shufflevector(a, b, (I / 2 + I % 2 * L)...));
    store<T>(dst + 2 * i + L, __builtin_shufflevector(a, b, ((I + L) / 2 + I % 2 * L)...));
  }
  for (; i < n; ++i) {
    dst[2 * i] = even[i];
    dst[2 * i + 1] = odd[i];
  }
}

}  // namespace ondine::math::ONDINE_ISA
