#include "kernels/simd/isa_tables.h"
#include "kernels/simd/norm/softmax_table.h"
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

template <class T, bool Cut>
void softmax(T* y, const T* x, N n) {
  const T largest = maximum(x, n);
  map(y, x, n, [largest](const Vec<T>& v) ONDINE_LAMBDA {
    if constexpr (Cut && sizeof(T) == 4) {
      return weight_of(v - largest);
    } else {
      return exp_any<T>(v - largest);
    }
  });
  const T factor = T{1} / sum(y, n);
  map(y, y, n, [factor](const Vec<T>& v) ONDINE_LAMBDA { return v * factor; });
}

template <class T>
void log_softmax(T* y, const T* x, N n) {
  const T largest = maximum(x, n);
  const T total = sum_terms<T>(
      0, n, [=](N i, auto get) ONDINE_LAMBDA { return exp_any<T>(get(x + i) - largest); });
  const T log_total = static_cast<T>(__builtin_log(static_cast<double>(total)));
  map(y, x, n, [=](const Vec<T>& v) ONDINE_LAMBDA { return (v - largest) - log_total; });
}

template <class T>
bool all_zero(const T* x, N n) {
  for (N i = 0; i < n; ++i) {
    if (x[i] != T{0}) return false;
  }
  return true;
}

template <class T, class Y>
void softmax_gradient(T* dx, const T* dy, const Y* y, N n) {
  const T product =
      sum_terms<T>(0, n, [=](N i, auto get) ONDINE_LAMBDA { return get(dy + i) * get(y + i); });
  if (product != product && all_zero(dy, n)) {
    for (N i = 0; i < n; ++i) dx[i] = T{0};
    return;
  }
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
constexpr SoftmaxKernels<T> kernels_of = {&softmax<T, false>, &softmax<T, true>, &log_softmax<T>,
                                          &softmax_gradient<T, T>, &log_softmax_gradient<T>};

constexpr SoftmaxKernels<float> with_bf16(SoftmaxKernels<float> kernels) {
  kernels.softmax_gradient_bf16 = &softmax_gradient<float, std::uint16_t>;
  return kernels;
}

}  // namespace

constinit const SoftmaxKernels<float> softmax_f32 = with_bf16(kernels_of<float>);
constinit const SoftmaxKernels<double> softmax_f64 = kernels_of<double>;

}  // namespace ondine::math::ONDINE_ISA
