#include "kernels/simd/isa_tables.h"
#include "kernels/simd/norm/layer_norm_table.h"
#include "kernels/simd/vector/map.h"
#include "kernels/simd/vector/reduce.h"

namespace ondine::math::ONDINE_ISA {
namespace {

#define ONDINE_LAMBDA __attribute__((always_inline))
using N = std::int64_t;

template <class T>
T sum(const T* x, N n) {
  return sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(x + i); });
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
constexpr LayerNormKernels<T> kernels_of = {&normalize<T>,
                                            &norm_sums<T>,
                                            &norm_gradient<T>,
                                            &scaled_norm_sums<T>,
                                            &scaled_norm_gradient<T>,
                                            &normal_column_sums<T>};

}  // namespace

constinit const LayerNormKernels<float> layer_norm_f32 = kernels_of<float>;
constinit const LayerNormKernels<double> layer_norm_f64 = kernels_of<double>;

}  // namespace ondine::math::ONDINE_ISA
