// Rows of softmax, normalisation and the optimizers.
#include "kernels/simd/parts.h"
#include "kernels/simd/vector/functions.h"
#include "kernels/simd/vector/map.h"
#include "kernels/simd/vector/reduce.h"
#include "kernels/simd/vector/transcendental.h"

namespace ondine::math::ONDINE_ISA {
namespace {

#define ONDINE_LAMBDA __attribute__((always_inline))
using N = std::int64_t;

template <class T>
ONDINE_INLINE Vec<T> exp_any(const Vec<T>& x) {
  if constexpr (sizeof(T) == 4) {
    return exp_of(x);
  } else {
    Vec<T> r{};
    for (int l = 0; l < lanes<T>; ++l) r[l] = __builtin_exp(x[l]);
    return r;
  }
}

template <class T>
T maximum(const T* x, N n) {
  return select_row<T>(x, n, -static_cast<T>(__builtin_inff()),
                       [](const auto& a, const auto& b) ONDINE_LAMBDA { return a > b; });
}

template <class T>
T sum(const T* x, N n) {
  return sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(x + i); });
}

template <class T>
void softmax(T* y, const T* x, N n) {
  const T most = maximum(x, n);
  map(y, x, n, [most](const Vec<T>& v) ONDINE_LAMBDA { return exp_any<T>(v - most); });
  const T factor = T{1} / sum(y, n);
  map(y, y, n, [factor](const Vec<T>& v) ONDINE_LAMBDA { return v * factor; });
}

template <class T>
void log_softmax(T* y, const T* x, N n) {
  const T most = maximum(x, n);
  const T total = sum_terms<T>(
      0, n, [=](N i, auto get) ONDINE_LAMBDA { return exp_any<T>(get(x + i) - most); });
  const T log_total = static_cast<T>(__builtin_log(static_cast<double>(total)));
  map(y, x, n, [=](const Vec<T>& v) ONDINE_LAMBDA { return (v - most) - log_total; });
}

template <class T>
void softmax_gradient(T* dx, const T* dy, const T* y, N n) {
  const T product =
      sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(dy + i) * get(y + i); });
  map(dx, dy, y, n,
      [product](const Vec<T>& d, const Vec<T>& v) ONDINE_LAMBDA { return v * (d - product); });
}

template <class T>
void log_softmax_gradient(T* dx, const T* dy, const T* y, N n) {
  const T total = sum(dy, n);
  map(dx, dy, y, n, [total](const Vec<T>& d, const Vec<T>& v) ONDINE_LAMBDA {
    return d - exp_any<T>(v) * total;
  });
}

template <class T>
void normalize(T* y, const T* x, T mean, T a, const T* scale, const T* bias, N n) {
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    Vec<T> v = (get(x) - mean) * a;
    if (scale) v *= get(scale);
    if (bias) v += get(bias);
    put(y, v);
  });
}

template <class T>
void norm_sums(const T* dy, const T* x, T mean, N n, T* total, T* product) {
  *total = sum(dy, n);
  *product = sum_terms<T>(
      0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(dy + i) * (get(x + i) - mean); });
}

template <class T>
void norm_gradient(T* dx, const T* dy, const T* x, T mean, T a, T b, T c, N n) {
  map(dx, dy, x, n,
      [=](const Vec<T>& d, const Vec<T>& v) ONDINE_LAMBDA { return a * d + (b * (v - mean) + c); });
}

template <class T>
void scaled_norm_sums(const T* dy, const T* scale, const T* x, T mean, N n, T* total, T* product) {
  *total =
      sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(dy + i) * get(scale + i); });
  *product = sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA {
    return get(dy + i) * get(scale + i) * (get(x + i) - mean);
  });
}

template <class T>
void scaled_norm_gradient(T* dx, const T* dy, const T* scale, const T* x, T mean, T a, T b, T c,
                          N n) {
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    put(dx, a * (get(dy) * get(scale)) + (b * (get(x) - mean) + c));
  });
}

template <class T>
void normal_column_sums(T* dst, const T* dy, const T* x, const T* mean, const T* a, N rows, N cols,
                        N ld) {
  sum_columns(dst, rows, cols, [=](N i, N j, auto get) ONDINE_LAMBDA {
    return get(dy + i * ld + j) * ((get(x + i * ld + j) - mean[i]) * a[i]);
  });
}

template <class T>
void sgd(const Sgd<T>& o, N n, const T* x, const T* g, T* x_new) {
  const T rate = o.rate;
  const T norm = o.norm;
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    const Vec<T> old = get(x);
    put(x_new, old - rate * (get(g) + norm * old));
  });
}

template <class T, int Terms>
ONDINE_INLINE void descend_row(const T* factors, N n, const T* w, const T* b, T* w_new) {
  T c[Terms];
  for (int p = 0; p < Terms; ++p) c[p] = factors[p];
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    Vec<T> sum = get(w);
#pragma GCC unroll 4
    for (int p = 0; p < Terms; ++p) sum += c[p] * get(b + p * n);
    put(w_new, sum);
  });
}

template <class T>
void thin_sgd_update(const ThinSgdUpdate<T>& o, const T* w, const T* a, const T* b, T* w_new) {
  for (N i = 0; i < o.m; ++i) {
    T c[ThinSgdUpdate<T>::most_terms];
    for (N p = 0; p < o.k; ++p) c[p] = -o.rate * a[i * o.a_row + p * o.a_col];
    if (o.k == 1) descend_row<T, 1>(c, o.n, w + i * o.n, b, w_new + i * o.n);
    if (o.k == 2) descend_row<T, 2>(c, o.n, w + i * o.n, b, w_new + i * o.n);
    if (o.k == 3) descend_row<T, 3>(c, o.n, w + i * o.n, b, w_new + i * o.n);
    if (o.k == 4) descend_row<T, 4>(c, o.n, w + i * o.n, b, w_new + i * o.n);
  }
}

template <class T>
void momentum(const Momentum<T>& options, N n, const T* x, const T* g, const T* v, T* x_new,
              T* v_new) {
  const Momentum<T> o = options;
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    const Vec<T> old = get(x);
    const Vec<T> slope = get(g) + o.norm * old;
    const Vec<T> speed = o.alpha * get(v) + o.beta * slope;
    put(v_new, speed);
    put(x_new, old - o.rate * (o.nesterov ? slope + o.alpha * speed : speed));
  });
}

template <class T>
void adagrad(const Adagrad<T>& options, N n, const T* x, const T* g, const T* h, T* x_new,
             T* h_new) {
  const Adagrad<T> o = options;
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    const Vec<T> old = get(x);
    const Vec<T> slope = get(g) + o.norm * old;
    const Vec<T> squares = get(h) + slope * slope;
    put(h_new, squares);
    put(x_new, old - o.rate * slope / (square_root<T>(squares) + o.epsilon));
  });
}

template <class T>
void adam(const Adam<T>& options, N n, const T* x, const T* g, const T* v, const T* h, T* x_new,
          T* v_new, T* h_new) {
  const Adam<T> o = options;
  const T keep = T{1} - o.norm_post;
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    const Vec<T> old = get(x);
    const Vec<T> slope = get(g) + o.norm * old;
    const Vec<T> first = o.alpha * get(v) + (T{1} - o.alpha) * slope;
    const Vec<T> second = o.beta * get(h) + (T{1} - o.beta) * slope * slope;
    put(v_new, first);
    put(h_new, second);
    put(x_new, keep * (old - o.rate * first / (square_root<T>(second) + o.epsilon)));
  });
}

template <class T>
constexpr RowKernels<T> make() {
  return {&softmax<T>,
          &log_softmax<T>,
          &softmax_gradient<T>,
          &log_softmax_gradient<T>,
          &normalize<T>,
          &norm_sums<T>,
          &norm_gradient<T>,
          &scaled_norm_sums<T>,
          &scaled_norm_gradient<T>,
          &normal_column_sums<T>,
          &sgd<T>,
          &thin_sgd_update<T>,
          &momentum<T>,
          &adagrad<T>,
          &adam<T>};
}

}  // namespace

constinit const RowKernels<float> rows_f32 = make<float>();
constinit const RowKernels<double> rows_f64 = make<double>();

}  // namespace ondine::math::ONDINE_ISA
