#include "kernels/simd/isa_tables.h"
#include "kernels/simd/optimizer/optimizer_table.h"
#include "kernels/simd/vector/functions.h"
#include "kernels/simd/vector/map.h"

namespace ondine::math::ONDINE_ISA {
namespace {

#define ONDINE_LAMBDA __attribute__((always_inline))
using N = std::int64_t;

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
    T c[ThinSgdUpdate<T>::max_terms];
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
  for_vectors<T, far_ahead<T>>(n, [=](auto get, auto put) ONDINE_LAMBDA {
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
  for_vectors<T, far_ahead<T>>(n, [=](auto get, auto put) ONDINE_LAMBDA {
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
  for_vectors<T, far_ahead<T>>(n, [=](auto get, auto put) ONDINE_LAMBDA {
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
constexpr OptimizerKernels<T> kernels_of = {&sgd<T>, &thin_sgd_update<T>, &momentum<T>, &adagrad<T>,
                                            &adam<T>};

}  // namespace

constinit const OptimizerKernels<float> optimizer_f32 = kernels_of<float>;
constinit const OptimizerKernels<double> optimizer_f64 = kernels_of<double>;

}  // namespace ondine::math::ONDINE_ISA
