#include "kernels/norm/softmax_primitive.h"

#include "tests/kernels/common/row_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {
using Index = std::int64_t;
}

TEMPLATE_TEST_CASE("softmax rows and their gradients follow the definition", "", float, double) {
  using T = TestType;
  for (const Index length : {1, 3, 10, 16, 17, 100, 3000}) {
    for (const Index rows : {0, 1, 7, 300}) {
      Numbers numbers(static_cast<std::uint64_t>(length));
      auto x = numbers.row<T>(rows * length);
      for (auto& value : x) value = value * 20 + 300;
      const auto dy = numbers.row<T>(rows * length);
      const auto n = x.size();
      std::vector<double> soft(n), logs(n), soft_dx(n), logs_dx(n);
      for (std::size_t at = 0; at < n; at += static_cast<std::size_t>(length)) {
        const auto end = at + static_cast<std::size_t>(length);
        double total = 0, product = 0, sum = 0;
        for (auto i = at; i < end; ++i) total += std::exp(static_cast<double>(x[i]) - 300);
        for (auto i = at; i < end; ++i) {
          logs[i] = static_cast<double>(x[i]) - 300 - std::log(total);
          soft[i] = std::exp(logs[i]);
          product += soft[i] * static_cast<double>(dy[i]);
          sum += static_cast<double>(dy[i]);
        }
        for (auto i = at; i < end; ++i) {
          soft_dx[i] = soft[i] * (static_cast<double>(dy[i]) - product);
          logs_dx[i] = static_cast<double>(dy[i]) - soft[i] * sum;
        }
      }
      std::vector<T> y(n), dx(n);
      const double limit = sizeof(T) == 4 ? 2e-5 : 1e-13;
      check<T>(soft, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
        SoftmaxPrimitive<T>({rows, length, 1, false, false}, kernels)
            .run(pool, {.x = x.data(), .result = y.data()});
        return y;
      });
      check<T>(soft_dx, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
        SoftmaxPrimitive<T>({rows, length, 1, false, true}, kernels)
            .run(pool, {.dy = dy.data(), .y = y.data(), .result = dx.data()});
        return dx;
      });
      check<T>(logs, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
        SoftmaxPrimitive<T>({rows, length, 1, true, false}, kernels)
            .run(pool, {.x = x.data(), .result = y.data()});
        return y;
      });
      check<T>(logs_dx, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
        SoftmaxPrimitive<T>({rows, length, 1, true, true}, kernels)
            .run(pool, {.dy = dy.data(), .y = y.data(), .result = dx.data()});
        return dx;
      });
    }
  }
}

TEMPLATE_TEST_CASE("softmax of columns follows softmax of rows", "", float, double) {
  using T = TestType;
  const Index outer = 2, length = 5;
  for (const Index inner : {2, 300}) {
    Numbers numbers(static_cast<std::uint64_t>(inner));
    const auto size = static_cast<std::size_t>(outer * length * inner);
    const auto rows = numbers.row<T>(outer * length * inner);
    const auto dy = numbers.row<T>(outer * length * inner);
    // Values with the axis in the middle (`to_columns`) or at the end.
    const auto transposed = [&](const std::vector<T>& from, bool to_columns) {
      std::vector<T> to(size);
      for (Index o = 0; o < outer; ++o) {
        for (Index k = 0; k < length; ++k) {
          for (Index i = 0; i < inner; ++i) {
            const auto column = static_cast<std::size_t>((o * length + k) * inner + i);
            const auto row = static_cast<std::size_t>((o * inner + i) * length + k);
            to[to_columns ? column : row] = from[to_columns ? row : column];
          }
        }
      }
      return to;
    };
    const auto x = transposed(rows, true), columns_dy = transposed(dy, true);
    for (const bool logarithm : {false, true}) {
      ThreadPool one(1);
      std::vector<T> y(size), dx(size), out(size);
      SoftmaxPrimitive<T>({outer * inner, length, 1, logarithm, false})
          .run(one, {.x = rows.data(), .result = y.data()});
      SoftmaxPrimitive<T>({outer * inner, length, 1, logarithm, true})
          .run(one, {.dy = dy.data(), .y = y.data(), .result = dx.data()});
      check<T>(to_double(y), tolerance<T>, [&](ThreadPool& pool, const SimdTables& kernels) {
        const SoftmaxPrimitive<T> softmax({outer, length, inner, logarithm, false}, kernels);
        CHECK(softmax.name() == "columns");
        out = x;
        softmax.run(pool, {.x = out.data(), .result = out.data()});
        return transposed(out, false);
      });
      const auto columns_y = transposed(y, true);
      check<T>(to_double(dx), tolerance<T>, [&](ThreadPool& pool, const SimdTables& kernels) {
        out = columns_dy;
        SoftmaxPrimitive<T>({outer, length, inner, logarithm, true}, kernels)
            .run(pool, {.dy = out.data(), .y = columns_y.data(), .result = out.data()});
        return transposed(out, false);
      });
    }
  }
}

TEST_CASE("softmax of rows and of columns are chosen by the axis") {
  CHECK(SoftmaxPrimitive<float>({.outer = 4, .length = 8}).name() == "rows");
  CHECK(SoftmaxPrimitive<float>({.outer = 4, .length = 8, .inner = 2}).name() == "columns");
  CHECK(SoftmaxPrimitive<float>({.outer = 4, .length = 8}, "columns", simd_tables()).name() ==
        "columns");
  CHECK_THROWS_AS(SoftmaxPrimitive<float>({.inner = 2}, "rows", simd_tables()), Error);
}
