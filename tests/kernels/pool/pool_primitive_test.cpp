#include "kernels/pool/pool_primitive.h"

#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

// body(position within the plane or -1 when outside, whether that place is padding) for the window
// at output p, in order.
template <class Body>
void for_window(const PoolShape& s, Index p, Body&& body) {
  const Index at[] = {p / (s.out[2] * s.out[1]), p / s.out[2] % s.out[1], p % s.out[2]};
  for (Index k = 0; k < volume(s.kernel); ++k) {
    const Index tap[] = {k / (s.kernel[2] * s.kernel[1]), k / s.kernel[2] % s.kernel[1],
                         k % s.kernel[2]};
    Index from = 0;
    bool inside = true, padded = true;
    for (std::size_t d = 0; d < 3; ++d) {
      const Index i = at[d] * s.stride[d] + tap[d] * s.dilation[d] - s.pad[d];
      inside = inside && i >= 0 && i < s.in[d];
      padded = padded && i >= -s.pad[d] && i < s.in[d] + s.pad_end[d];
      from = from * s.in[d] + i;
    }
    body(inside ? from : -1, padded);
  }
}

template <class T>
void check_all(const PoolShape& s, const std::vector<T>& x) {
  const Index in = volume(s.in), out = volume(s.out);
  Numbers numbers(8);
  const auto dy = numbers.row<T>(s.planes * out);
  std::vector<T> most(dy.size());
  std::vector<Index> where(dy.size());
  std::vector<double> mean(dy.size()), max_dx(x.size()), mean_dx(x.size());
  for (Index i = 0; i < s.planes; ++i) {
    for (Index p = 0; p < out; ++p) {
      const auto o = static_cast<std::size_t>(i * out + p);
      const auto value = [&](Index at) { return x[static_cast<std::size_t>(i * in + at)]; };
      Index best = -1, count = 0;
      double sum = 0;
      for_window(s, p, [&](Index at, bool padded) {
        count += s.count_include_pad ? padded : at >= 0;
        if (at < 0) return;
        sum += static_cast<double>(value(at));
        const bool later_nan = best >= 0 && std::isnan(value(best));
        if (best < 0 || value(at) > value(best) || (std::isnan(value(at)) && !later_nan)) best = at;
      });
      where[o] = best;
      most[o] = value(best);
      mean[o] = sum / static_cast<double>(count);
      max_dx[static_cast<std::size_t>(i * in + best)] += static_cast<double>(dy[o]);
      for_window(s, p, [&](Index at, bool) {
        if (at < 0) return;
        mean_dx[static_cast<std::size_t>(i * in + at)] +=
            static_cast<double>(dy[o]) / static_cast<double>(count);
      });
    }
  }
  for (const auto* kernels : all_kernels()) {
    INFO(isa_name(*kernels) << " in " << s.in[1] << "x" << s.in[2] << " out " << s.out[2]
                            << " kernel " << s.kernel[2]);
    std::vector<std::vector<T>> all;
    for (const int threads : {1, 2, 4}) {
      ThreadPool pool(threads);
      std::vector<T> y(dy.size()), plain(dy.size()), average(dy.size());
      std::vector<T> dx(x.size()), again(x.size()), average_dx(x.size());
      std::vector<Index> index(dy.size());
      max_pool(pool, s, x.data(), y.data(), index.data(), *kernels);
      max_pool<T>(pool, s, x.data(), plain.data(), nullptr, *kernels);
      max_pool_gradient(pool, s, dy.data(), index.data(), dx.data());
      max_pool_gradient(pool, s, dy.data(), x.data(), again.data(), *kernels);
      average_pool(pool, s, x.data(), average.data(), *kernels);
      average_pool_gradient(pool, s, dy.data(), average_dx.data(), *kernels);
      CHECK(index == where);
      CHECK(same_bits(plain, most));
      CHECK(same_bits(y, most));
      CHECK(worst_error(dx, max_dx) < tolerance<T>);
      CHECK(same_bits(again, dx));
      bool finite = true;
      for (const T v : x) finite = finite && std::isfinite(v);
      if (finite) CHECK(worst_error(average, mean) < tolerance<T>);
      CHECK(worst_error(average_dx, mean_dx) < tolerance<T>);
      for (auto* part : {&plain, &dx, &average, &average_dx}) all.push_back(*part);
    }
    for (std::size_t i = 4; i < all.size(); ++i) CHECK(same_bits(all[i], all[i % 4]));
  }
}

template <class T>
void check_all(PoolShape s) {
  for (const bool include : {false, true}) {
    s.count_include_pad = include;
    Numbers numbers(static_cast<std::uint64_t>(volume(s.in)));
    check_all(s, numbers.row<T>(s.planes * volume(s.in)));
  }
}

PoolShape shape2(Index planes, Index h, Index w, Index kh, Index kw, Index stride, Index dilation,
                 Index pad, Index pad_end, bool ceil = false) {
  PoolShape s{planes, {1, h, w}, {1, kh, kw}};
  s.stride = {1, stride, stride};
  s.dilation = {1, dilation, dilation};
  s.pad = {0, pad, pad};
  s.pad_end = {0, pad_end, pad_end};
  for (std::size_t d = 1; d < 3; ++d) {
    const Index room = s.in[d] + pad + pad_end - (s.kernel[d] - 1) * dilation - 1;
    s.out[d] = (room + (ceil ? stride - 1 : 0)) / stride + 1;
    // The last window starts inside of the input or its padding at the beginning.
    if (ceil && (s.out[d] - 1) * stride >= s.in[d] + pad) --s.out[d];
  }
  return s;
}

}  // namespace

TEMPLATE_TEST_CASE("pooling and its gradients follow the definition", "", float, double) {
  using T = TestType;
  check_all<T>(shape2(3, 4, 6, 2, 2, 2, 1, 0, 0));
  check_all<T>(shape2(5, 28, 28, 2, 2, 2, 1, 0, 0));
  check_all<T>(shape2(40, 15, 13, 2, 2, 2, 1, 0, 0));
  check_all<T>(shape2(3, 9, 130, 2, 2, 2, 1, 0, 0));
  check_all<T>(shape2(2, 6, 9, 2, 2, 2, 1, 0, 1));
  check_all<T>(shape2(40, 20, 23, 3, 3, 2, 1, 1, 1));
  check_all<T>(shape2(2, 20, 23, 3, 3, 2, 1, 1, 1, true));
  check_all<T>(shape2(2, 20, 22, 3, 3, 2, 1, 0, 0, true));
  check_all<T>(shape2(2, 20, 23, 3, 2, 1, 1, 1, 0));
  check_all<T>(shape2(2, 20, 23, 2, 3, 3, 2, 1, 1));
  check_all<T>(shape2(2, 9, 700, 3, 3, 2, 1, 1, 1));
  check_all<T>(shape2(2, 9, 700, 3, 5, 1, 1, 2, 0));
  check_all<T>(shape2(30, 7, 7, 7, 7, 1, 1, 0, 0));
  check_all<T>({2, {1, 1, 30}, {1, 1, 4}, {1, 1, 9}, {1, 1, 3}});
  check_all<T>({3, {5, 6, 7}, {2, 3, 2}, {3, 3, 4}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 1, 0}});
  check_all<T>(shape2(0, 4, 6, 2, 2, 2, 1, 0, 0));
}

TEMPLATE_TEST_CASE("the first of equal maxima counts and NaN is the maximum", "", float, double) {
  using T = TestType;
  for (const auto& s : {shape2(1, 6, 9, 3, 3, 2, 1, 1, 1), shape2(1, 6, 9, 2, 2, 2, 1, 0, 0)}) {
    std::vector<T> x(54, T(1));
    check_all(s, x);
    x.assign(54, -INFINITY);
    check_all(s, x);
    x.assign(54, T(2));
    x[20] = NAN;
    x[22] = NAN;
    x[31] = NAN;
    check_all(s, x);
  }
}
