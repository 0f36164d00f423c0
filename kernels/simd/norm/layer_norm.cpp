#include "kernels/simd/isa_tables.h"
#include "kernels/simd/norm/layer_norm_table.h"
#include "kernels/simd/vector/map.h"
#include "kernels/simd/vector/reduce.h"

namespace ondine::math::ONDINE_ISA {
namespace {

#define ONDINE_LAMBDA __attribute__((always_inline))
using N = std::int64_t;

template <class T, class X>
T sum(const X* x, N n) {
  return sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(x + i); });
}

template <class T, class X>
T sum_squared_deviation(const X* x, T mean, N n) {
  return sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA {
    const Vec<T> d = get(x + i) - mean;
    return d * d;
  });
}

template <class T, class X>
void normalize(T* y, const X* x, T mean, T a, const T* scale, const T* bias, N n) {
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    Vec<T> v = (get(x) - mean) * a;
    if (scale) v *= get(scale);
    if (bias) v += get(bias);
    put(y, v);
  });
}

template <class T, class X>
void norm_sums(const T* dy, const X* x, T mean, N n, T* total, T* product) {
  *total = sum<T>(dy, n);
  *product = sum_terms<T>(
      0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(dy + i) * (get(x + i) - mean); });
}

template <class T, class X>
void norm_gradient(T* dx, const T* dy, const X* x, T mean, T a, T b, T c, N n) {
  map(dx, dy, x, n,
      [=](const Vec<T>& d, const Vec<T>& v) ONDINE_LAMBDA { return a * d + (b * (v - mean) + c); });
}

template <class T, class X>
void scaled_norm_sums(const T* dy, const T* scale, const X* x, T mean, N n, T* total, T* product) {
  *total =
      sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(dy + i) * get(scale + i); });
  *product = sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA {
    return get(dy + i) * get(scale + i) * (get(x + i) - mean);
  });
}

template <class T, class X>
void scaled_norm_gradient(T* dx, const T* dy, const T* scale, const X* x, T mean, T a, T b, T c,
                          N n) {
  for_vectors<T>(n, [=](auto get, auto put) ONDINE_LAMBDA {
    put(dx, a * (get(dy) * get(scale)) + (b * (get(x) - mean) + c));
  });
}

template <class T, class X>
void normal_column_sums(T* dst, const T* dy, const X* x, const T* mean, const T* a, N rows, N cols,
                        N ld) {
  sum_columns(dst, rows, cols, [=](N i, N j, auto get) ONDINE_LAMBDA {
    return get(dy + i * ld + j) * ((get(x + i * ld + j) - mean[i]) * a[i]);
  });
}

template <class T, class X = T>
constexpr LayerNormKernels<T, X> kernels_of = {&sum<T, X>,
                                               &sum_squared_deviation<T, X>,
                                               &normalize<T, X>,
                                               &norm_sums<T, X>,
                                               &norm_gradient<T, X>,
                                               &scaled_norm_sums<T, X>,
                                               &scaled_norm_gradient<T, X>,
                                               &normal_column_sums<T, X>};

}  // namespace

constinit const LayerNormKernels<float> layer_norm_f32 = kernels_of<float>;
constinit const LayerNormKernels<double> layer_norm_f64 = kernels_of<double>;
constinit const LayerNormKernels<float, std::uint16_t> layer_norm_bf16 =
    kernels_of<float, std::uint16_t>;

}  // namespace ondine::math::ONDINE_ISA
