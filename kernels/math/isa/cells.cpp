// Cells of recurrent networks, in one pass over their rows.
#include "kernels/math/isa/parts.h"
#include "kernels/math/isa/transcendental.h"

namespace ondine::math::ONDINE_ISA {
namespace {

#define ONDINE_LAMBDA __attribute__((always_inline))
using N = std::int64_t;

template <class T>
ONDINE_INLINE Vec<T> sigmoid_any(const Vec<T>& x) {
  if constexpr (sizeof(T) == 4) {
    return sigmoid_of(x);
  } else {
    Vec<T> r{};
    for (int l = 0; l < lanes<T>; ++l) r[l] = sigmoid_scalar(x[l]);
    return r;
  }
}

template <class T>
ONDINE_INLINE Vec<T> tanh_any(const Vec<T>& x) {
  if constexpr (sizeof(T) == 4) {
    return tanh_of(x);
  } else {
    Vec<T> r{};
    for (int l = 0; l < lanes<T>; ++l) r[l] = tanh_scalar(x[l]);
    return r;
  }
}

template <class T>
void lstm(T* z, const T* u, T* c, T* h, N n) {
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    const Vec<T> in = get(z) + get(u);
    const Vec<T> out = get(z + n) + get(u + n);
    const Vec<T> forget = get(z + 2 * n) + get(u + 2 * n);
    const Vec<T> fresh = get(z + 3 * n) + get(u + 3 * n);
    put(z, in);
    put(z + n, out);
    put(z + 2 * n, forget);
    put(z + 3 * n, fresh);
    const Vec<T> cell = sigmoid_any<T>(forget) * get(c) + sigmoid_any<T>(in) * tanh_any<T>(fresh);
    put(c, cell);
    put(h, sigmoid_any<T>(out) * tanh_any<T>(cell));
  });
}

template <class T>
void lstm_gradient(const T* z, const T* old, const T* c, const T* dh, T* dc, T* dz, N n) {
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    const Vec<T> by_h = get(dh);
    const Vec<T> out = sigmoid_any<T>(get(z + n));
    const Vec<T> shown = tanh_any<T>(get(c));
    put(dz + n, by_h * shown * out * (T{1} - out));
    const Vec<T> by_c = get(dc) + by_h * out * (T{1} - shown * shown);
    const Vec<T> in = sigmoid_any<T>(get(z));
    const Vec<T> fresh = tanh_any<T>(get(z + 3 * n));
    put(dz, by_c * fresh * in * (T{1} - in));
    put(dz + 3 * n, by_c * in * (T{1} - fresh * fresh));
    const Vec<T> forget = sigmoid_any<T>(get(z + 2 * n));
    put(dz + 2 * n, by_c * get(old) * forget * (T{1} - forget));
    put(dc, by_c * forget);
  });
}

}  // namespace

constinit const CellKernels<float> cells_f32 = {&lstm<float>, &lstm_gradient<float>};
constinit const CellKernels<double> cells_f64 = {&lstm<double>, &lstm_gradient<double>};

}  // namespace ondine::math::ONDINE_ISA
