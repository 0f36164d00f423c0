// Sigmoid and tanh of a recurrent cell's gates. The float versions clamp x to the range outside
// which the result is constant and divide by an approximate reciprocal with one Newton step:
// absolute errors below 2e-7.
#pragma once

#include "kernels/simd/vector/in_register.h"
#include "kernels/simd/vector/transcendental.h"

namespace ondine::math::ONDINE_ISA {

// Vectors that one iteration of a loop over a row computes: the functions are long dependency
// chains, and independent ones side by side hide their latency.
template <class T>
inline constexpr int vectors_in_flight = sizeof(T) == 8       ? 1
                                         : vector_bytes == 64 ? 4
                                                              : 2;

// Keeps the compiler from contracting the product into a fused multiply-add: in a sum of two
// products, every instantiation then rounds the same one.
template <class T>
ONDINE_INLINE Vec<T> rounded(Vec<T> product) {
  return in_register(product);
}

// a = a / b, b in [1, 2^127]: an approximate reciprocal and one Newton step. Overwrites b.
template <int Count>
ONDINE_INLINE void divide(Vf (&a)[Count], Vf (&b)[Count]) {
#if defined(__AVX2__)
  Vf guess[Count], first[Count];
  times<Count>([&](int i) __attribute__((always_inline)) {
#if defined(__AVX512F__)
    guess[i] = reinterpret_cast<Vf>(_mm512_maskz_rcp14_ps(0xffff, reinterpret_cast<__m512>(b[i])));
#else
    guess[i] = reinterpret_cast<Vf>(_mm256_rcp_ps(reinterpret_cast<__m256>(b[i])));
#endif
  });
  times<Count>([&](int i) __attribute__((always_inline)) { first[i] = a[i] * guess[i]; });
  times<Count>([&](int i) __attribute__((always_inline)) { b[i] = a[i] - b[i] * first[i]; });
  times<Count>([&](int i) __attribute__((always_inline)) { a[i] = first[i] + guess[i] * b[i]; });
#else
  times<Count>([&](int i) __attribute__((always_inline)) { a[i] /= b[i]; });
#endif
}

// x = 1 / (1 + e^-x)
template <int Count>
ONDINE_INLINE void sigmoid_in_place(Vf (&x)[Count]) {
  Vi shifted[Count];
  Vf e[Count];
  times<Count>([&](int i) __attribute__((always_inline)) { x[i] = at_most(x[i], 87.0f); });
  times<Count>([&](int i) __attribute__((always_inline)) { x[i] = -at_least(x[i], -87.0f); });
  exp_parts(x, shifted);
  times<Count>([&](int i) __attribute__((always_inline)) { x[i] += 1.0f; });
  times<Count>([&](int i) __attribute__((always_inline)) {
    e[i] = from_bits<float>(bits<float>(x[i]) + (shifted[i] << 23));
  });
  times<Count>([&](int i) __attribute__((always_inline)) {
    e[i] += 1.0f;
    x[i] = splat(1.0f);
  });
  divide(x, e);
}

// x = tanh x = (e^2x - 1) / ((e^2x - 1) + 2)
template <int Count>
ONDINE_INLINE void tanh_in_place(Vf (&x)[Count]) {
  Vi shifted[Count];
  Vf power[Count];
  times<Count>([&](int i) __attribute__((always_inline)) { x[i] = at_most(x[i], 20.0f); });
  times<Count>([&](int i) __attribute__((always_inline)) {
    x[i] = at_least(x[i], -20.0f);
    x[i] += x[i];
  });
  exp_parts(x, shifted);
  times<Count>([&](int i) __attribute__((always_inline)) {
    power[i] = from_bits<float>((shifted[i] << 23) + 0x3f800000);
  });
  times<Count>([&](int i)
                   __attribute__((always_inline)) { x[i] = power[i] * x[i] + (power[i] - 1.0f); });
  times<Count>([&](int i) __attribute__((always_inline)) { power[i] = x[i] + 2.0f; });
  divide(x, power);
}

template <int Count>
ONDINE_INLINE void sigmoid_in_place(Vec<double> (&x)[Count]) {
  for (auto& v : x) {
    Vec<double> r{};
    for (int l = 0; l < lanes<double>; ++l) r[l] = sigmoid_scalar(v[l]);
    v = r;
  }
}
template <int Count>
ONDINE_INLINE void tanh_in_place(Vec<double> (&x)[Count]) {
  for (auto& v : x) {
    Vec<double> r{};
    for (int l = 0; l < lanes<double>; ++l) r[l] = tanh_scalar(v[l]);
    v = r;
  }
}

}  // namespace ondine::math::ONDINE_ISA
