// Rows of elementary functions: polynomials in float, the C library's functions in double.
#pragma once

#include "kernels/simd/vector/functions.h"
#include "kernels/simd/vector/map.h"

namespace ondine::math::ONDINE_ISA {

#define ONDINE_FLOAT_ROW(name, function) \
  ONDINE_INLINE Vf name##_vector(const Vf& x) { return function; }

ONDINE_FLOAT_ROW(log, log_of(x))
ONDINE_FLOAT_ROW(tanh, tanh_of(x))
ONDINE_FLOAT_ROW(erf, erf_of(x))
ONDINE_FLOAT_ROW(softplus, softplus_of(x))
ONDINE_FLOAT_ROW(gelu, gelu_of(x))
ONDINE_FLOAT_ROW(gelu_tanh, gelu_tanh_of(x))
ONDINE_FLOAT_ROW(gelu_slope, gelu_slope(x))
ONDINE_FLOAT_ROW(gelu_tanh_slope, gelu_tanh_slope(x))
#undef ONDINE_FLOAT_ROW

template <bool Cosine>
ONDINE_INLINE Vf sine_vector(const Vf& x) {
  Vf y = sine(x, Cosine ? 1 : 0);
  const Vf t = absolute(x);
  const Vi large = ~(t < trigonometric_limit);
  int any = 0;
  for (int l = 0; l < lanes<float>; ++l) any |= large[l];
  if (any == 0) return y;
  for (int l = 0; l < lanes<float>; ++l) {
    if (large[l]) y[l] = Cosine ? __builtin_cosf(x[l]) : __builtin_sinf(x[l]);
  }
  return y;
}
ONDINE_INLINE Vf sin_vector(const Vf& x) { return sine_vector<false>(x); }
ONDINE_INLINE Vf cos_vector(const Vf& x) { return sine_vector<true>(x); }

ONDINE_INLINE double exp_scalar(double x) { return __builtin_exp(x); }
ONDINE_INLINE double log_scalar(double x) { return __builtin_log(x); }
ONDINE_INLINE double tanh_scalar(double x) { return __builtin_tanh(x); }
ONDINE_INLINE double erf_scalar(double x) { return __builtin_erf(x); }
ONDINE_INLINE double sin_scalar(double x) { return __builtin_sin(x); }
ONDINE_INLINE double cos_scalar(double x) { return __builtin_cos(x); }
ONDINE_INLINE double sigmoid_scalar(double x) {
  const double e = __builtin_exp(-__builtin_fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
ONDINE_INLINE double softplus_scalar(double x) {
  return (x > 0 ? x : 0.0) + __builtin_log1p(__builtin_exp(-__builtin_fabs(x)));
}
ONDINE_INLINE double normal_cdf(double x) { return 0.5 * __builtin_erfc(-x * 0.70710678118654752); }
ONDINE_INLINE double gelu_scalar(double x) { return x * normal_cdf(x); }
// Not inlined: rounded in the same way wherever it is used.
[[maybe_unused, gnu::noinline]] static double gelu_slope_scalar(double x) {
  return normal_cdf(x) + x * __builtin_exp(-0.5 * x * x) * 0.39894228040143268;
}
inline constexpr double gelu_rate_double = 1.5957691216057308;  // 2 sqrt(2 / pi)
ONDINE_INLINE double gelu_tanh_scalar(double x) {
  return x * sigmoid_scalar(gelu_rate_double * x * (1 + 0.044715 * x * x));
}
[[maybe_unused, gnu::noinline]] static double gelu_tanh_slope_scalar(double x) {
  const double s = sigmoid_scalar(gelu_rate_double * x * (1 + 0.044715 * x * x));
  return s + x * s * (1 - s) * gelu_rate_double * (1 + 0.134145 * x * x);
}

// name_row<T> of functions that take several vectors at a time.
#define ONDINE_GROUP_ROW(name, function)                                             \
  template <class T>                                                                 \
  static void name##_row(T* dst, const T* src, std::int64_t n) {                     \
    if constexpr (sizeof(T) == 4) {                                                  \
      map_groups(                                                                    \
          dst, src, n, [](auto& x) __attribute__((always_inline)) { function(x); }); \
    } else {                                                                         \
      for (std::int64_t i = 0; i < n; ++i) dst[i] = name##_scalar(src[i]);           \
    }                                                                                \
  }
ONDINE_GROUP_ROW(exp, exp_in_place)
ONDINE_GROUP_ROW(sigmoid, sigmoids_in_place)
#undef ONDINE_GROUP_ROW

// name_row<T>: dst = f(src); name_gradient<T>: dx = dy f'(x).
#define ONDINE_ROW(name)                                                                \
  template <class T>                                                                    \
  static void name##_row(T* dst, const T* src, std::int64_t n) {                        \
    if constexpr (sizeof(T) == 4) {                                                     \
      map<far_ahead<float>>(                                                            \
          dst, src, n,                                                                  \
          [](const Vf& x) __attribute__((always_inline)) { return name##_vector(x); }); \
    } else {                                                                            \
      for (std::int64_t i = 0; i < n; ++i) dst[i] = name##_scalar(src[i]);              \
    }                                                                                   \
  }
ONDINE_ROW(log)
ONDINE_ROW(tanh)
ONDINE_ROW(erf)
ONDINE_ROW(softplus)
ONDINE_ROW(sin)
ONDINE_ROW(cos)
ONDINE_ROW(gelu)
ONDINE_ROW(gelu_tanh)
#undef ONDINE_ROW

#define ONDINE_SLOPE(name)                                                            \
  template <class T>                                                                  \
  static void name##_gradient(T* dx, const T* dy, const T* x, std::int64_t n) {       \
    if constexpr (sizeof(T) == 4) {                                                   \
      map<far_ahead<float>>(                                                          \
          dx, dy, x, n, [](const Vf& d, const Vf& v) __attribute__((always_inline)) { \
            return d * name##_slope_vector(v);                                        \
          });                                                                         \
    } else {                                                                          \
      for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * name##_slope_scalar(x[i]); \
    }                                                                                 \
  }
ONDINE_SLOPE(gelu)
ONDINE_SLOPE(gelu_tanh)
#undef ONDINE_SLOPE

// name_gradient_and_value<T>: dx = dy f'(x), y = f(x), which have much in common.
#define ONDINE_SLOPE_AND_VALUE(name)                                                            \
  template <class T>                                                                            \
  static void name##_gradient_and_value(T* dx, T* y, const T* dy, const T* x, std::int64_t n) { \
    if constexpr (sizeof(T) == 4) {                                                             \
      for_vectors<T>(                                                                           \
          n, [&](auto get, auto put) __attribute__((always_inline)) {                           \
            const Vf d = get(dy), v = get(x);                                                   \
            const Vf value = name##_vector(v);                                                  \
            put(dx, d* name##_slope_vector(v));                                                 \
            put(y, value);                                                                      \
          });                                                                                   \
    } else {                                                                                    \
      for (std::int64_t i = 0; i < n; ++i) {                                                    \
        const T d = dy[i], v = x[i];                                                            \
        dx[i] = d * name##_slope_scalar(v);                                                     \
        y[i] = name##_scalar(v);                                                                \
      }                                                                                         \
    }                                                                                           \
  }
ONDINE_SLOPE_AND_VALUE(gelu)
ONDINE_SLOPE_AND_VALUE(gelu_tanh)
#undef ONDINE_SLOPE_AND_VALUE

ONDINE_INLINE Vf sigmoid_at(const Vf& x) { return sigmoid_of(x); }
ONDINE_INLINE double sigmoid_at(double x) { return sigmoid_scalar(x); }

// f(x...) for vectors of float and for single numbers of double.
template <class T, class F, class... S>
ONDINE_INLINE void map_elements(T* dst, std::int64_t n, F&& f, const S*... src) {
  if constexpr (sizeof(T) == 4) {
    map<far_ahead<T>>(dst, src..., n, f);
  } else {
    for (std::int64_t i = 0; i < n; ++i) dst[i] = f(src[i]...);
  }
}

template <class T>
static void swish_row(T* y, const T* x, T a, std::int64_t n) {
  if constexpr (sizeof(T) == 4) {
    map_groups(
        y, x, n, [a]<int Count>(Vf(&v)[Count]) __attribute__((always_inline)) {
          Vf s[Count];
          times<Count>([&](int i) __attribute__((always_inline)) { s[i] = a * v[i]; });
          sigmoids_in_place(s);
          times<Count>([&](int i) __attribute__((always_inline)) { v[i] *= s[i]; });
        });
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * sigmoid_scalar(a * x[i]);
  }
}

template <class T>
static void swish_gradient_row(T* dx, const T* dy, const T* x, T a, std::int64_t n) {
  map_elements(
      dx, n,
      [a](const auto& d, const auto& v) __attribute__((always_inline)) {
        const auto s = sigmoid_at(a * v);
        return d * s * (T{1} + a * v * (T{1} - s));
      },
      dy, x);
}

}  // namespace ondine::math::ONDINE_ISA
