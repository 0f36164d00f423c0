// Elementary functions of float vectors, without branches. Polynomials are minimax fits of this
// project's own to the reduced functions. The comment of each says what is reduced to what, and the
// error that tests/kernels/elementwise/vector_test.cpp allows over all floats; NaN, infinities and
// subnormals are right.
#pragma once

#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

using Vf = Vec<float>;
using Vi = IVec<float>;

ONDINE_INLINE Vf splat(float s) { return broadcast<float>(s); }
ONDINE_INLINE Vf absolute(const Vf& x) { return from_bits<float>(bits<float>(x) & 0x7fffffff); }
// The magnitude of `x` with the sign of `sign`.
ONDINE_INLINE Vf with_sign(const Vf& x, const Vf& sign) {
  return from_bits<float>(bits<float>(x) | (bits<float>(sign) & ~0x7fffffff));
}

template <int N>
ONDINE_INLINE Vf polynomial(const Vf& x, const float (&c)[N]) {
  Vf r = splat(c[N - 1]);
#pragma GCC unroll 16
  for (int i = N - 2; i >= 0; --i) r = r * x + c[i];
  return r;
}

// As the minimum and maximum of the processor, which is one instruction; NaN stays.
ONDINE_INLINE Vf at_most(const Vf& x, float bound) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vf>(
      _mm512_maskz_min_ps(0xffff, _mm512_set1_ps(bound), reinterpret_cast<__m512>(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vf>(_mm256_min_ps(_mm256_set1_ps(bound), reinterpret_cast<__m256>(x)));
#else
  return x > bound ? splat(bound) : x;
#endif
}
ONDINE_INLINE Vf at_least(const Vf& x, float bound) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vf>(
      _mm512_maskz_max_ps(0xffff, _mm512_set1_ps(bound), reinterpret_cast<__m512>(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vf>(_mm256_max_ps(_mm256_set1_ps(bound), reinterpret_cast<__m256>(x)));
#else
  return x < bound ? splat(bound) : x;
#endif
}

ONDINE_INLINE Vec<double> at_most(const Vec<double>& x, double bound) {
  return x > bound ? broadcast<double>(bound) : x;
}
ONDINE_INLINE Vec<double> at_least(const Vec<double>& x, double bound) {
  return x < bound ? broadcast<double>(bound) : x;
}

// f(0), f(1), ...
template <int Count, class F>
ONDINE_INLINE void times(F&& f) {
#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) f(i);
}

// Splits e^x = 2^n (1 + rest) of each x, |log(1 + rest)| <= ln(2) / 2: x becomes the rest, n the
// low bits of `shifted`, so that shifted << 23 is n where a float has its exponent. Takes several x
// at once, since the processor overlaps only instructions that are near.
template <int Count>
ONDINE_INLINE void exp_parts(Vf (&x)[Count], Vi (&shifted)[Count]) {
  constexpr float magic = 12582912.0f;  // 1.5 2^23: adding it rounds to an integer
  constexpr float c[] = {4.999999404e-01f, 1.666651964e-01f, 4.166839272e-02f, 8.368779905e-03f,
                         1.381450682e-03f};
  Vf n[Count], square[Count], y[Count];
  times<Count>([&](int i) __attribute__((always_inline)) { n[i] = x[i] * 1.44269504f + magic; });
  times<Count>([&](int i) __attribute__((always_inline)) {
    shifted[i] = bits<float>(n[i]);
    n[i] -= magic;
  });
  times<Count>([&](int i) __attribute__((always_inline)) { x[i] -= n[i] * 0.693359375f; });
  times<Count>([&](int i) __attribute__((always_inline)) { x[i] += n[i] * 2.12194440e-4f; });
  times<Count>([&](int i) __attribute__((always_inline)) {
    square[i] = x[i] * x[i];
    y[i] = x[i] * c[4] + c[3];
  });
#pragma GCC unroll 4
  for (int k = 2; k >= 0; --k) {
    times<Count>([&](int i) __attribute__((always_inline)) { y[i] = y[i] * x[i] + c[k]; });
  }
  times<Count>([&](int i) __attribute__((always_inline)) { x[i] += square[i] * y[i]; });
}

#if defined(__AVX512F__)
// Replaces each x up to 89 by e^x, but by 0 below `least`. x / ln 2 = n + f, |f| <= 1/2, with a
// polynomial for 2^f.
template <int Count>
ONDINE_INLINE void exp_from(Vf (&x)[Count], float least) {
  constexpr float magic = 12582912.0f;  // as in exp_parts
  constexpr float c[] = {1.0f,
                         6.931472029e-01f,
                         2.402264791e-01f,
                         5.550332470e-02f,
                         9.618437357e-03f,
                         1.339887487e-03f,
                         1.535336321e-04f};
  Vf n[Count], f[Count], y[Count];
  times<Count>([&](int i) __attribute__((always_inline)) {
    n[i] = x[i] * 1.44269502f + magic;
    n[i] -= magic;
  });
  times<Count>([&](int i) __attribute__((always_inline)) { f[i] = x[i] * 1.44269502f - n[i]; });
  times<Count>([&](int i) __attribute__((always_inline)) { f[i] += x[i] * 1.925963033e-8f; });
  times<Count>([&](int i) __attribute__((always_inline)) { y[i] = f[i] * c[6] + c[5]; });
#pragma GCC unroll 5
  for (int k = 4; k >= 0; --k) {
    times<Count>([&](int i) __attribute__((always_inline)) { y[i] = y[i] * f[i] + c[k]; });
  }
  times<Count>([&](int i) __attribute__((always_inline)) {
    // An instruction that underflows takes many times as long: what is 0 is left out, NaN is not.
    const __mmask16 above =
        _mm512_cmp_ps_mask(reinterpret_cast<__m512>(x[i]), _mm512_set1_ps(least), _CMP_NLT_UQ);
    x[i] = reinterpret_cast<Vf>(_mm512_maskz_scalef_ps(above, reinterpret_cast<__m512>(y[i]),
                                                       reinterpret_cast<__m512>(n[i])));
  });
}
#endif

// Replaces each x by e^x. 2 ulp. Without AVX-512, multiplies by 2^n in two factors, for subnormal
// results and overflow. Both factors are 0 far below, where a product that underflows would take
// many times as long.
template <int Count>
ONDINE_INLINE void exp_in_place(Vf (&x)[Count]) {
#if defined(__AVX512F__)
  times<Count>([&](int i) __attribute__((always_inline)) { x[i] = at_most(x[i], 89.0f); });
  exp_from(x, -104.0f);
#else
  Vi shifted[Count];
  times<Count>([&](int i) __attribute__((always_inline)) {
    x[i] = at_least(at_most(x[i], 89.0f), -176.0f);
  });
  exp_parts(x, shifted);
  times<Count>([&](int i) __attribute__((always_inline)) {
    const Vi whole = shifted[i] - 0x4b400000;
    const Vi half = whole >> 1;
    x[i] = (x[i] + 1.0f) * from_bits<float>((half + 127) << 23) *
           from_bits<float>((whole - half + 127) << 23);
  });
#endif
}
ONDINE_INLINE Vf exp_of(const Vf& value) {
  Vf x[] = {value};
  exp_in_place(x);
  return x[0];
}

// e^x for x up to 0, but 0 below -69: subnormal numbers, and products that become such, take many
// times as long.
ONDINE_INLINE Vf weight_of(const Vf& value) {
#if defined(__AVX512F__)
  Vf x[] = {value};
  exp_from(x, -69.0f);
  return x[0];
#else
  return exp_of(value < -69.0f ? splat(-200.0f) : value);
#endif
}

// 2 ulp. log x = e ln 2 + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)).
ONDINE_INLINE Vf log_of(const Vf& value) {
  constexpr float c[] = {3.333331347e-01f,  -2.500000894e-01f, 2.000214309e-01f,
                         -1.666804552e-01f, 1.421905607e-01f,  -1.240429431e-01f,
                         1.189077646e-01f,  -1.168520898e-01f, 6.752484292e-02f};
  const float infinity = __builtin_inff();
  const auto subnormal = value < 1.17549435e-38f;
  const Vf x = subnormal ? value * 8388608.0f : value;
  const Vi ix = bits<float>(absolute(x)) - 0x3f3504f3;
  const Vf e = __builtin_convertvector(ix >> 23, Vf) - (subnormal ? splat(23.0f) : Vf{});
  const Vf f = from_bits<float>((ix & 0x7fffff) + 0x3f3504f3) - 1.0f;
  const Vf tail = f * f * f * polynomial(f, c) - e * 2.12194440e-4f - 0.5f * f * f;
  Vf r = f + tail + e * 0.693359375f;
  r = value < infinity ? r : value;  // infinity and NaN
  r = value < 0.0f ? splat(__builtin_nanf("")) : r;
  return value == 0.0f ? splat(-infinity) : r;
}

// log(1 + e), 0 <= e <= 1, with the rounding error of 1 + e put back.
ONDINE_INLINE Vf log1p_unit(const Vf& e) {
  const Vf u = 1.0f + e;
  return log_of(u) + (e - (u - 1.0f)) / u;
}

// 3 ulp.
ONDINE_INLINE Vf softplus_of(const Vf& x) {
  return (x > 0.0f ? x : Vf{}) + log1p_unit(exp_of(-absolute(x)));
}

// Replaces each x by 1 / (1 + e^-x). 3 ulp.
template <int Count>
ONDINE_INLINE void sigmoids_in_place(Vf (&x)[Count]) {
  Vf e[Count];
  times<Count>([&](int i) __attribute__((always_inline)) { e[i] = -absolute(x[i]); });
  exp_in_place(e);
  times<Count>([&](int i) __attribute__((always_inline)) {
    x[i] = (x[i] < 0.0f ? e[i] : splat(1.0f)) / (1.0f + e[i]);
  });
}
ONDINE_INLINE Vf sigmoid_of(const Vf& value) {
  Vf x[] = {value};
  sigmoids_in_place(x);
  return x[0];
}

// 2.5 ulp. Small |x|: x + x^3 Q(x^2), else 1 - 2 / (e^2|x| + 1).
ONDINE_INLINE Vf tanh_of(const Vf& x) {
  constexpr float c[] = {-3.333327472e-01f, 1.333127469e-01f, -5.372515321e-02f, 2.058989555e-02f,
                         -5.648382474e-03f};
  const Vf t = absolute(x);
  const Vf z = x * x;
  const Vf small = x + x * z * polynomial(z, c);
  const Vf large = 1.0f - 2.0f / (exp_of(t + t) + 1.0f);
  return t < 0.625f ? small : with_sign(large, x);
}

// e^(-t^2), t >= 0: t = h + l with h^2 exact.
ONDINE_INLINE Vf exp_minus_square(const Vf& t) {
  const Vf h = from_bits<float>(bits<float>(t) & ~0xfff);
  const Vf d = (h - t) * (h + t);
  return exp_of(-(h * h)) * (1.0f + d * (1.0f + d * (0.5f + d * (1.0f / 6 + d * (1.0f / 24)))));
}

// erfc t = e^(-t^2) p(u) / (1 + 2 t), u = (t - 2) / (t + 2) (Shepherd, Laframboise 1981); t >= 0.
ONDINE_INLINE Vf erfc_positive(const Vf& value) {
  constexpr float c[] = {1.276978374e+00f,  -9.276389331e-02f, -1.660314649e-01f, 1.640529186e-01f,
                         -5.420406908e-02f, -8.042228408e-03f, 8.635114878e-03f,  1.264795777e-03f,
                         -1.252337825e-03f, -3.545350046e-04f, 3.142940113e-05f};
  const Vf t = value > 10.5f ? splat(10.5f) : value;
  const Vf u = (t - 2.0f) / (t + 2.0f);
  return exp_minus_square(t) * polynomial(u, c) / (1.0f + t + t);
}

// 2 ulp.
ONDINE_INLINE Vf erf_of(const Vf& x) {
  constexpr float c[] = {1.283791671e-01f, -3.761263490e-01f, 1.128369570e-01f, -2.685939334e-02f,
                         5.201021675e-03f, -8.142583538e-04f, 8.369589341e-05f};
  const Vf t = absolute(x);
  const Vf z = x * x;
  const Vf large = 1.0f - erfc_positive(t);
  return t < 0.921875f ? x + x * polynomial(z, c) : with_sign(large, x);
}

// The normal distribution function P at x; `density` receives e^(-x^2 / 2). For z >= 0, P(-z) is
// e^(-z^2 / 2) w p(u), w = 1 / (z + 3.75), u = 9.375 w - 1.5: p minimizes the largest relative
// error for z <= 15, 1.5e-8.
ONDINE_INLINE Vf normal_cdf(const Vf& x, Vf& density) {
  constexpr float c[] = {8.833208124e-01f,  5.989828734e-01f, 2.896970333e-01f,
                         9.233775376e-02f,  1.380269767e-02f, -2.107741821e-03f,
                         -1.149720103e-03f, 4.192014992e-05f, 7.439850413e-05f};
  const Vf w = 1.0f / (absolute(x) + 3.75f);
  density = exp_of(-0.5f * x * x);
  const Vf lower = density * (w * polynomial(9.375f * w - 1.5f, c));
  return x < 0.0f ? lower : 1.0f - lower;
}

// 70 ulp far below 0, where the result is tiny.
ONDINE_INLINE Vf gelu_of(const Vf& x) {
  Vf density;
  return x * normal_cdf(x, density);
}
ONDINE_INLINE Vf gelu_slope(const Vf& x) {
  Vf density;
  const Vf cdf = normal_cdf(x, density);
  return cdf + x * density * 0.398942280f;
}

inline constexpr float gelu_rate = 1.59576912f;  // 2 sqrt(2 / pi)
// (1 + tanh(a)) / 2 = sigmoid(2 a)
ONDINE_INLINE Vf gelu_tanh_of(const Vf& x) {
  return x * sigmoid_of(gelu_rate * x * (1.0f + 0.044715f * x * x));
}
ONDINE_INLINE Vf gelu_tanh_slope(const Vf& x) {
  const Vf s = sigmoid_of(gelu_rate * x * (1.0f + 0.044715f * x * x));
  return s + x * s * (1.0f - s) * gelu_rate * (1.0f + 0.134145f * x * x);
}

// Absolute error 1e-7. x = q pi / 2 + r, pi / 2 in three parts of which q times the first two are
// exact for |q| < 2^13.
inline constexpr float trigonometric_limit = 8192.0f;
ONDINE_INLINE Vf sine(const Vf& x, int quarter) {
  constexpr float s[] = {-1.666666716e-01f, 8.333329111e-03f, -1.983932743e-04f, 2.718238420e-06f};
  constexpr float c[] = {4.166666791e-02f, -1.388888340e-03f, 2.479951218e-05f, -2.720954910e-07f};
  constexpr float magic = 12582912.0f;
  const Vf shifted = x * 0.636619772f + magic;
  const Vf q = shifted - magic;
  const Vf r = ((x - q * 1.5703125f) - q * 4.837512969970703e-4f) - q * 7.549789954891882e-8f;
  const Vf z = r * r;
  const Vf sin_r = r + r * z * polynomial(z, s);
  const Vf cos_r = 1.0f - 0.5f * z + z * z * polynomial(z, c);
  const Vi octant = bits<float>(shifted) + quarter;
  const Vf y = (octant & 1) == 0 ? sin_r : cos_r;
  return from_bits<float>(bits<float>(y) ^ ((octant & 2) << 30));
}

}  // namespace ondine::math::ONDINE_ISA
