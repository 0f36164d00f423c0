// Sums over the rows of a channel. A block of elements stays in the first cache for its second
// pass; the blocks are joined in double.
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/norm/batch_norm_table.h"
#include "kernels/simd/vector/in_register.h"
#include "kernels/simd/vector/machine.h"
#include "kernels/simd/vector/map.h"
#include "kernels/simd/vector/transcendental.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using N = std::int64_t;

constexpr N block = 2048;
// Elements ahead that are asked for: streams of the hardware end where pages do.
constexpr N ahead = 1024;

// Sum over i < n of term(i, get), for terms that are 0 where get gives 0 for elements past the end.
template <class T, class F>
ONDINE_INLINE Vec<T> sum_block(N n, F&& term) {
  constexpr int L = lanes<T>;
  Vec<T> acc[4] = {};
  const auto whole = [](const auto* p) __attribute__((always_inline)) { return load_widened(p); };
  N i = 0;
  for (; i + 4 * L <= n; i += 4 * L) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) acc[v] += term(i + v * L, whole);
  }
  for (; i + L <= n; i += L) acc[0] += term(i, whole);
  if (i < n) {
    const N rest = n - i;
    acc[1] += term(
        i, [rest](const auto* p)
               __attribute__((always_inline)) { return load_widened_n(p, rest); });
  }
  return (acc[0] + acc[1]) + (acc[2] + acc[3]);
}

template <class T, class X>
void moments(const X* x, N n, Moments* m) {
  for (N from = 0; from < n; from += block) {
    const N count = n - from < block ? n - from : block;
    const X* const row = x + from;
    const auto elements = static_cast<double>(count);
    const T total = lane_sum<T>(sum_block<T>(
        count, [row](N i, auto get) __attribute__((always_inline)) { return get(row + i); }));
    const double sum = static_cast<double>(total);
    const T mean = static_cast<T>(sum / elements);
    // Elements past the end, being 0, give mean^2 each in the last vector.
    constexpr int L = lanes<T>;
    const N missing = count % L == 0 ? 0 : L - count % L;
    // The next block comes from memory while this one is read again.
    const bool more = from + block < n;
    const T squares = lane_sum<T>(sum_block<T>(
        count - (missing ? L - missing : 0),
        [ row, mean, more ](N i, auto get) __attribute__((always_inline)) {
          if (more) __builtin_prefetch(row + i + block);
          const Vec<T> d = get(row + i) - mean;
          return d * d;
        }));
    double square = static_cast<double>(squares);
    for (N i = count - (missing ? L - missing : 0); i < count; ++i) {
      const double d = static_cast<double>(widened(row[i])) - static_cast<double>(mean);
      square += d * d;
    }
    // About the rounded mean: moved to the exact one.
    const double exact = sum / elements;
    const double shift = exact - static_cast<double>(mean);
    square -= elements * shift * shift;
    if (square < 0) square = 0;
    const double all = m->count + elements;
    const double delta = exact - m->mean;
    m->squares += square + delta * delta * m->count * elements / all;
    m->mean += delta * elements / all;
    m->count = all;
  }
}

// slope(dy, x) is what is summed in place of dy.
template <class T, bool Far, class X, class F>
ONDINE_INLINE void add_block_sums(const T* dy, const X* x, T mean, N n, double* total,
                                  double* product, F&& slope) {
  constexpr int L = lanes<T>;
  for (N from = 0; from < n; from += block) {
    const N end = n - from < block ? n : from + block;
    Vec<T> sum[4] = {};
    Vec<T> with[4] = {};
    N i = from;
    for (; i + 4 * L <= end; i += 4 * L) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        if constexpr (Far) {
          __builtin_prefetch(x + i + v * L + ahead);
          __builtin_prefetch(dy + i + v * L + ahead);
        }
        const Vec<T> value = load_widened(x + i + v * L);
        const Vec<T> d = slope(load(dy + i + v * L), value);
        sum[v] += d;
        with[v] += d * (value - mean);
      }
    }
    for (; i < end; i += L) {
      const N rest = end - i < L ? end - i : L;
      const Vec<T> value = load_widened_n(x + i, rest);
      const Vec<T> d = slope(load_n(dy + i, rest), value);
      sum[0] += d;
      with[0] += d * (value - mean);
    }
    *total += static_cast<double>(lane_sum<T>((sum[0] + sum[1]) + (sum[2] + sum[3])));
    *product += static_cast<double>(lane_sum<T>((with[0] + with[1]) + (with[2] + with[3])));
  }
}

template <class T, class X, class F>
ONDINE_INLINE void add_sums(const T* dy, const X* x, T mean, N n, double* total, double* product,
                            F&& slope) {
  if (n >= 2 * ahead) return add_block_sums<T, true>(dy, x, mean, n, total, product, slope);
  add_block_sums<T, false>(dy, x, mean, n, total, product, slope);
}

template <class T, class X>
void sums(const T* dy, const X* x, T mean, N n, double* total, double* product) {
  add_sums(
      dy, x, mean, n, total, product,
      [](const Vec<T>& d, const Vec<T>&) __attribute__((always_inline)) { return d; });
}

template <class T>
ONDINE_INLINE Vec<T> normal(const NormRow<T>& row, const Vec<T>& x) {
  return (x - row.mean) * row.a + row.bias;
}

template <class T>
ONDINE_INLINE Vec<T> masked(const NormRow<T>& row, Vec<T> d, const Vec<T>& x) {
  // Loaded as a whole: a load under the mask would wait for x.
  if constexpr (has_mask_registers) d = in_register(d);
  const Vec<T> v = normal(row, x);
  return (v < row.low) | (v > row.high) ? Vec<T>{} : d;
}

template <class T, class X>
void normalize(const NormRow<T>& given, T* y, const X* x, const T* addend, N n) {
  const NormRow<T> row = given;
  const Vec<T> low = broadcast<T>(row.low);
  const Vec<T> high = broadcast<T>(row.high);
  const auto clamp = [=](Vec<T> v) __attribute__((always_inline)) {
    v = v < low ? low : v;
    return v > high ? high : v;
  };
  if (addend) {
    map(
        y, x, addend, n, [=](const Vec<T>& u, const Vec<T>& more) __attribute__((always_inline)) {
          return clamp(normal(row, u) + more);
        });
  } else {
    map(
        y, x,
        n, [=](const Vec<T>& u) __attribute__((always_inline)) { return clamp(normal(row, u)); });
  }
}

// y and slope, which may be null, of f(v) with both results.
template <class T, class X, class F>
ONDINE_INLINE void smooth(const NormRow<T>& given, T* y, T* slope, const X* x, N n, F&& f) {
  const NormRow<T> row = given;
  for_vectors<T>(
      n, [&](auto get, auto put) __attribute__((always_inline)) {
        Vec<T> value, derivative;
        f(normal(row, get(x)), value, derivative);
        if (y) put(y, value);
        if (slope) put(slope, derivative);
      });
}

ONDINE_INLINE Vec<float> sigmoid_lanes(const Vec<float>& v) { return sigmoid_at(v); }
ONDINE_INLINE Vec<double> sigmoid_lanes(Vec<double> v) {
  for (int i = 0; i < lanes<double>; ++i) v[i] = sigmoid_at(v[i]);
  return v;
}

template <class T, class X>
void swish(const NormRow<T>& row, T alpha, T* y, T* slope, const X* x, N n) {
  smooth(
      row, y, slope, x, n,
      [alpha](const Vec<T>& v, Vec<T>& value, Vec<T>& derivative) __attribute__((always_inline)) {
        const Vec<T> s = sigmoid_lanes(alpha * v);
        value = v * s;
        derivative = s * (T{1} + alpha * v * (T{1} - s));
      });
}

template <class T, class X>
void hard_swish(const NormRow<T>& row, T* y, T* slope, const X* x, N n) {
  smooth(
      row, y, slope, x, n,
      [](const Vec<T>& v, Vec<T>& value, Vec<T>& derivative) __attribute__((always_inline)) {
        value = v <= T{-3} ? Vec<T>{} : v * (v * T(1.0 / 6) + T(0.5));
        value = v >= T{3} ? v : value;
        derivative = v > T{-3} ? v * T(1.0 / 3) + T(0.5) : Vec<T>{};
        derivative = v < T{3} ? derivative : broadcast<T>(1);
      });
}

template <class T, class X>
void masked_sums(const NormRow<T>& given, const T* dy, const X* x, N n, double* total,
                 double* product) {
  const NormRow<T> row = given;
  add_sums(
      dy, x, row.mean, n, total,
      product, [row](const Vec<T>& d, const Vec<T>& value) __attribute__((always_inline)) {
        return masked(row, d, value);
      });
}

template <class T, class X>
void masked_gradient(const NormRow<T>& given, T* dx, const T* dy, const X* x, T by_x, T shift,
                     N n) {
  const NormRow<T> row = given;
  map<far_ahead<T>>(
      dx, dy, x, n, [=](const Vec<T>& d, const Vec<T>& v) __attribute__((always_inline)) {
        return row.a * masked(row, d, v) + (by_x * (v - row.mean) + shift);
      });
}

template <class T, class X>
void masked_scale(const NormRow<T>& given, T* dx, const T* dy, const X* x, N n) {
  const NormRow<T> row = given;
  map<far_ahead<T>>(
      dx, dy, x, n, [=](const Vec<T>& d, const Vec<T>& v) __attribute__((always_inline)) {
        return row.a * masked(row, d, v);
      });
}

template <class T, class X = T>
constexpr BatchNormKernels<T, X> make() {
  return {&moments<T, X>,    &sums<T, X>,        &normalize<T, X>,       &swish<T, X>,
          &hard_swish<T, X>, &masked_sums<T, X>, &masked_gradient<T, X>, &masked_scale<T, X>};
}

}  // namespace

constinit const BatchNormKernels<float> batch_norm_f32 = make<float>();
constinit const BatchNormKernels<double> batch_norm_f64 = make<double>();
constinit const BatchNormKernels<float, std::uint16_t> batch_norm_bf16 =
    make<float, std::uint16_t>();

}  // namespace ondine::math::ONDINE_ISA
