// Cells of recurrent networks, in one pass over their rows.
#include "kernels/math/isa/parts.h"
#include "kernels/math/isa/transcendental.h"

namespace ondine::math::ONDINE_ISA {
namespace {

#define ONDINE_LAMBDA __attribute__((always_inline))
using N = std::int64_t;

#if defined(__AVX2__)
// 1 / x for x in [1, 2^127]: an estimate and one step of Newton's, 1 ulp.
ONDINE_INLINE Vf reciprocal(const Vf& x) {
#if defined(__AVX512F__)
  const Vf guess = reinterpret_cast<Vf>(_mm512_maskz_rcp14_ps(0xffff, reinterpret_cast<__m512>(x)));
#else
  const Vf guess = reinterpret_cast<Vf>(_mm256_rcp_ps(reinterpret_cast<__m256>(x)));
#endif
  return guess + guess * (1.0f - x * guess);
}
#else
ONDINE_INLINE Vf reciprocal(const Vf& x) { return 1.0f / x; }
#endif

// e^x of exp_of for |x| <= 87, beyond which neither function of a cell changes in float.
ONDINE_INLINE Vf exp_within(const Vf& value) {
  constexpr float magic = 12582912.0f;
  constexpr float c[] = {4.999999404e-01f, 1.666651964e-01f, 4.166839272e-02f, 8.368779905e-03f,
                         1.381450682e-03f};
  Vf x = value > 87.0f ? splat(87.0f) : value;
  x = x < -87.0f ? splat(-87.0f) : x;
  const Vf shifted = x * 1.44269504f + magic;
  const Vf n = shifted - magic;
  const Vf r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  const Vf y = r + r * r * polynomial(r, c) + 1.0f;
  return y * from_bits<float>((bits<float>(shifted) - 0x4b400000 + 127) << 23);
}

template <class T>
ONDINE_INLINE Vec<T> sigmoid_any(const Vec<T>& x) {
  if constexpr (sizeof(T) == 4) {
    return reciprocal(1.0f + exp_within(-x));
  } else {
    Vec<T> r{};
    for (int l = 0; l < lanes<T>; ++l) r[l] = sigmoid_scalar(x[l]);
    return r;
  }
}

// As tanh_of.
template <class T>
ONDINE_INLINE Vec<T> tanh_any(const Vec<T>& x) {
  if constexpr (sizeof(T) == 4) {
    constexpr float c[] = {-3.333327472e-01f, 1.333127469e-01f, -5.372515321e-02f, 2.058989555e-02f,
                           -5.648382474e-03f};
    const Vf z = x * x;
    const Vf small = x + x * z * polynomial(z, c);
    const Vf large = 1.0f - 2.0f * reciprocal(1.0f + exp_within(x + x));
    return absolute(x) < 0.625f ? small : large;
  } else {
    Vec<T> r{};
    for (int l = 0; l < lanes<T>; ++l) r[l] = tanh_scalar(x[l]);
    return r;
  }
}

template <class T>
void lstm(T* z, T* c, T* h, N n) {
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    const Vec<T> in = sigmoid_any<T>(get(z));
    const Vec<T> out = sigmoid_any<T>(get(z + n));
    const Vec<T> forget = sigmoid_any<T>(get(z + 2 * n));
    const Vec<T> fresh = tanh_any<T>(get(z + 3 * n));
    put(z, in);
    put(z + n, out);
    put(z + 2 * n, forget);
    put(z + 3 * n, fresh);
    const Vec<T> cell = forget * get(c) + in * fresh;
    put(c, cell);
    put(h, out * tanh_any<T>(cell));
  });
}

template <class T>
void lstm_gradient(const T* z, const T* old, const T* c, const T* dh, T* dc, T* dz, N n, N ahead) {
  constexpr N line = 64 / N{sizeof(T)};
  for (N i = 0; ahead != 0 && i < 4 * n; i += line) __builtin_prefetch(z + ahead + i, 0, 2);
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    const Vec<T> by_h = get(dh);
    const Vec<T> in = get(z);
    const Vec<T> out = get(z + n);
    const Vec<T> forget = get(z + 2 * n);
    const Vec<T> fresh = get(z + 3 * n);
    const Vec<T> shown = tanh_any<T>(get(c));
    put(dz + n, by_h * shown * out * (T{1} - out));
    const Vec<T> by_c = get(dc) + by_h * out * (T{1} - shown * shown);
    put(dz, by_c * fresh * in * (T{1} - in));
    put(dz + 3 * n, by_c * in * (T{1} - fresh * fresh));
    put(dz + 2 * n, by_c * get(old) * forget * (T{1} - forget));
    put(dc, by_c * forget);
  });
}

}  // namespace

constinit const CellKernels<float> cells_f32 = {&lstm<float>, &lstm_gradient<float>};
constinit const CellKernels<double> cells_f64 = {&lstm<double>, &lstm_gradient<double>};

}  // namespace ondine::math::ONDINE_ISA
