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
  std::vector<double> mean(dy.size()), total(dy.size());
  std::vector<double> max_dx(x.size()), mean_dx(x.size()), total_dx(x.size());
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
      where[o] = i * in + best;
      most[o] = value(best);
      mean[o] = sum / static_cast<double>(count);
      total[o] = sum;
      max_dx[static_cast<std::size_t>(i * in + best)] += static_cast<double>(dy[o]);
      for_window(s, p, [&](Index at, bool) {
        if (at < 0) return;
        const auto target = static_cast<std::size_t>(i * in + at);
        mean_dx[target] += static_cast<double>(dy[o]) / static_cast<double>(count);
        total_dx[target] += static_cast<double>(dy[o]);
      });
    }
  }
  for (const auto* kernels : all_kernels()) {
    INFO(isa_name(*kernels) << " in " << s.in[1] << "x" << s.in[2] << " out " << s.out[2]
                            << " kernel " << s.kernel[2]);
    std::vector<std::vector<T>> all;
    for (const int threads : {1, 2, 4}) {
      ThreadPool pool(threads);
      std::vector<T> y(dy.size()), plain(dy.size()), average(dy.size()), sum(dy.size());
      std::vector<T> dx(x.size()), average_dx(x.size()), sum_dx(x.size());
      std::vector<Index> index(dy.size());
      const auto run = [&](const PoolDesc& desc, const PoolArgs<T>& args) {
        PoolPrimitive<T>(desc, *kernels).run(pool, args);
      };
      run({.shape = s, .indices = true},
          {.x = x.data(), .result = y.data(), .new_indices = index.data()});
      run({.shape = s}, {.x = x.data(), .result = plain.data()});
      run({.shape = s, .backward = true},
          {.dy = dy.data(), .indices = index.data(), .result = dx.data()});
      run({s, PoolKind::average}, {.x = x.data(), .result = average.data()});
      run({s, PoolKind::average, true}, {.dy = dy.data(), .result = average_dx.data()});
      run({s, PoolKind::sum}, {.x = x.data(), .result = sum.data()});
      run({s, PoolKind::sum, true}, {.dy = dy.data(), .result = sum_dx.data()});
      CHECK(index == where);
      CHECK(same_bits(plain, most));
      CHECK(same_bits(y, most));
      CHECK(worst_error(dx, max_dx) < tolerance<T>);
      bool finite = true;
      for (const T v : x) finite = finite && std::isfinite(v);
      if (finite) CHECK(worst_error(average, mean) < tolerance<T>);
      if (finite) CHECK(worst_error(sum, total) < tolerance<T>);
      CHECK(worst_error(average_dx, mean_dx) < tolerance<T>);
      CHECK(worst_error(sum_dx, total_dx) < tolerance<T>);
      for (auto* part : {&plain, &dx, &average, &average_dx, &sum, &sum_dx}) all.push_back(*part);
    }
    for (std::size_t i = 6; i < all.size(); ++i) CHECK(same_bits(all[i], all[i % 6]));
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
  check_all<T>(shape2(40, 14, 14, 3, 3, 3, 1, 0, 0));
  check_all<T>(shape2(3, 40, 25, 4, 3, 4, 2, 0, 0));
  check_all<T>(shape2(3, 9, 300, 1, 4, 4, 1, 0, 0));
  check_all<T>(shape2(2, 9, 1100, 3, 5, 4, 2, 1, 3));
  check_all<T>(shape2(2, 13, 1000, 2, 3, 3, 1, 1, 0, true));
  check_all<T>(shape2(2, 11, 350, 1, 200, 4, 1, 0, 0));
  check_all<T>(shape2(2, 20, 90, 1, 7, 5, 1, 0, 0));
  check_all<T>({2, {7, 6, 8}, {2, 3, 1}, {3, 3, 4}, {2, 1, 2}, {2, 1, 1}, {0, 0, 0}});
  check_all<T>(shape2(2, 9, 700, 3, 3, 2, 1, 1, 1));
  check_all<T>(shape2(2, 9, 700, 3, 5, 1, 1, 2, 0));
  check_all<T>(shape2(30, 7, 7, 7, 7, 1, 1, 0, 0));
  check_all<T>({2, {1, 1, 30}, {1, 1, 4}, {1, 1, 9}, {1, 1, 3}});
  check_all<T>({3, {5, 6, 7}, {2, 3, 2}, {3, 3, 4}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 1, 0}});
  check_all<T>(shape2(0, 4, 6, 2, 2, 2, 1, 0, 0));
}

TEMPLATE_TEST_CASE("the first of equal maxima counts and NaN is the maximum", "", float, double) {
  using T = TestType;
  for (const auto& s : {shape2(1, 6, 9, 3, 3, 2, 1, 1, 1), shape2(1, 6, 9, 2, 2, 2, 1, 0, 0),
                        shape2(1, 6, 9, 3, 3, 3, 1, 0, 0)}) {
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

TEMPLATE_TEST_CASE("the first implementation of pooling that supports a descriptor is chosen", "",
                   float, double) {
  const auto chosen = [](const PoolDesc& desc) {
    return std::string(PoolPrimitive<TestType>(desc).name());
  };
  const PoolShape squares = shape2(3, 8, 8, 2, 2, 2, 1, 0, 0);
  const PoolShape overlapping = shape2(3, 9, 9, 3, 3, 2, 1, 1, 1);
  const PoolShape distant = shape2(3, 9, 9, 3, 3, 3, 1, 0, 0);
  const PoolShape whole = shape2(3, 7, 7, 7, 7, 1, 1, 0, 0);
  CHECK(chosen({.shape = squares, .indices = true}) == "max_squares");
  CHECK(chosen({.shape = squares}) == "max_squares");
  CHECK(chosen({.shape = overlapping}) == "max_lines");
  CHECK(chosen({.shape = overlapping, .indices = true}) == "max_rows");
  CHECK(chosen({.shape = distant}) == "max_windows");
  CHECK(chosen({.shape = distant, .indices = true}) == "max_windows");
  CHECK(chosen({.shape = shape2(3, 9, 28, 3, 3, 3, 1, 0, 0)}) == "max_rows");
  CHECK(chosen({.shape = shape2(3, 9, 9, 3, 3, 3, 1, 1, 1)}) == "max_rows");
  const PoolShape along = shape2(3, 9, 300, 1, 4, 4, 1, 0, 0);
  CHECK(chosen({.shape = along}) == "max_lines");
  CHECK(chosen({.shape = along, .indices = true}) == "max_rows");
  CHECK(chosen({along, PoolKind::average}) == "sum_lines");
  CHECK(chosen({.shape = squares, .backward = true}) == "max_scatter");
  for (const PoolKind kind : {PoolKind::average, PoolKind::sum}) {
    CHECK(chosen({squares, kind}) == "sum_lines");
    CHECK(chosen({distant, kind}) == "sum_rows");
    CHECK(chosen({squares, kind, true}) == "sum_rows");
    CHECK(chosen({whole, kind}) == "mean_global");
    CHECK(chosen({whole, kind, true}) == "mean_global");
  }
  CHECK_THROWS_AS(PoolPrimitive<TestType>({.shape = overlapping}, "max_squares", simd_tables()),
                  Error);
}

TEMPLATE_TEST_CASE("implementations of pooling that support a descriptor agree", "", float,
                   double) {
  using T = TestType;
  for (const PoolShape& s :
       {shape2(5, 28, 30, 2, 2, 2, 1, 0, 0), shape2(2, 7, 7, 7, 7, 1, 1, 0, 0)}) {
    Numbers numbers(3);
    const auto x = numbers.row<T>(s.planes * volume(s.in));
    const auto n = static_cast<std::size_t>(s.planes * volume(s.out));
    ThreadPool pool(2);
    const auto run = [&](PoolKind kind, std::string_view name) {
      std::vector<T> y(n);
      PoolPrimitive<T>({s, kind}, name, simd_tables())
          .run(pool, {.x = x.data(), .result = y.data()});
      return y;
    };
    CHECK(same_bits(run(PoolKind::max, "max_lines"), run(PoolKind::max, "max_rows")));
    for (const PoolKind kind : {PoolKind::average, PoolKind::sum}) {
      const auto rows = run(kind, "sum_rows");
      const std::vector<double> expected(rows.begin(), rows.end());
      CHECK(worst_error(run(kind, "sum_lines"), expected) < tolerance<T>);
    }
  }
}

TEST_CASE("indices of max pooling count in column-major order where that is wanted") {
  const PoolShape s = shape2(2, 4, 6, 2, 3, 2, 1, 0, 0);
  Numbers numbers(4);
  const auto x = numbers.row<float>(48);
  const auto n = static_cast<std::size_t>(s.planes * volume(s.out));
  ThreadPool pool(1);
  std::vector<float> y(n), dx(48), transposed_dx(48);
  std::vector<Index> row_major(n), column_major(n);
  for (const bool columns : {false, true}) {
    auto& index = columns ? column_major : row_major;
    PoolPrimitive<float>({.shape = s, .indices = true, .column_major = columns})
        .run(pool, {.x = x.data(), .result = y.data(), .new_indices = index.data()});
    PoolPrimitive<float>({.shape = s, .backward = true, .column_major = columns})
        .run(pool, {.dy = y.data(),
                    .indices = index.data(),
                    .result = (columns ? transposed_dx : dx).data()});
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Index plane = row_major[i] / 24, h = row_major[i] % 24 / 6, w = row_major[i] % 6;
    CHECK(column_major[i] == plane * 24 + w * 4 + h);
  }
  CHECK(same_bits(dx, transposed_dx));
}
