#include "kernels/norm/layer_norm_primitive.h"

#include "tests/kernels/common/row_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {
using Index = std::int64_t;
}

TEMPLATE_TEST_CASE("layer normalization and its gradient follow the definition", "", float,
                   double) {
  using T = TestType;
  for (const Index length : {1, 5, 16, 100, 257}) {
    for (const Index rows : {0, 1, 33, 200}) {
      for (const bool affine : {false, true}) {
        Numbers numbers(static_cast<std::uint64_t>(length + rows));
        const auto x = numbers.row<T>(rows * length), dy = numbers.row<T>(rows * length);
        const auto scale = numbers.row<T>(length), bias = numbers.row<T>(length);
        const auto width = static_cast<std::size_t>(length);
        const T epsilon = T(0.01);
        std::vector<double> y(x.size()), dx(x.size()), dscale(width), dbias(width);
        for (std::size_t at = 0; at < x.size(); at += width) {
          double mean = 0, variance = 0, total = 0, product = 0;
          const auto n = static_cast<double>(length);
          for (std::size_t j = 0; j < width; ++j) mean += static_cast<double>(x[at + j]) / n;
          for (std::size_t j = 0; j < width; ++j) {
            variance += std::pow(static_cast<double>(x[at + j]) - mean, 2) / n;
          }
          const double inverse = 1 / std::sqrt(variance + static_cast<double>(epsilon));
          const auto hat = [&](std::size_t j) {
            return (static_cast<double>(x[at + j]) - mean) * inverse;
          };
          const auto g = [&](std::size_t j) {
            return static_cast<double>(dy[at + j]) * (affine ? static_cast<double>(scale[j]) : 1);
          };
          for (std::size_t j = 0; j < width; ++j) {
            y[at + j] = affine
                            ? hat(j) * static_cast<double>(scale[j]) + static_cast<double>(bias[j])
                            : hat(j);
            dscale[j] += static_cast<double>(dy[at + j]) * hat(j);
            dbias[j] += static_cast<double>(dy[at + j]);
            total += g(j) / n;
            product += g(j) * hat(j) / n;
          }
          for (std::size_t j = 0; j < width; ++j) {
            dx[at + j] = inverse * (g(j) - total - hat(j) * product);
          }
        }
        std::vector<T> out(x.size()), mean(static_cast<std::size_t>(rows)), inverse(mean.size());
        std::vector<T> ds(width), db(width);
        const double limit = sizeof(T) == 4 ? 1e-5 : 1e-13;
        check<T>(y, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
          LayerNormPrimitive<T>({rows, length, static_cast<double>(epsilon)}, kernels)
              .run(pool, {.x = x.data(),
                          .scale = affine ? scale.data() : nullptr,
                          .bias = affine ? bias.data() : nullptr,
                          .y = out.data(),
                          .saved_mean = mean.data(),
                          .saved_inv_std = inverse.data()});
          return out;
        });
        const auto gradient = [&](ThreadPool& pool, const SimdTables& kernels) {
          LayerNormPrimitive<T>(
              {.rows = rows, .length = length, .backward = true, .scaled = affine}, kernels)
              .run(pool, {.x = x.data(),
                          .scale = affine ? scale.data() : nullptr,
                          .dy = dy.data(),
                          .mean = mean.data(),
                          .inv_std = inverse.data(),
                          .dx = out.data(),
                          .dscale = ds.data(),
                          .dbias = db.data()});
        };
        check<T>(dx, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
          gradient(pool, kernels);
          return out;
        });
        check<T>(dscale, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
          gradient(pool, kernels);
          return ds;
        });
        check<T>(dbias, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
          gradient(pool, kernels);
          return db;
        });
      }
    }
  }
}

TEMPLATE_TEST_CASE("layer normalization can compute its statistics alone", "", float, double) {
  using T = TestType;
  const Index rows = 3, length = 7;
  Numbers numbers(5);
  const auto x = numbers.row<T>(rows * length);
  ThreadPool pool(1);
  std::vector<T> y(x.size()), mean(3), inv_std(3), only_mean(3), only_inv_std(3);
  const LayerNormPrimitive<T> layer_norm({rows, length, 0.01});
  CHECK(layer_norm.name() == "rows");
  layer_norm.run(
      pool,
      {.x = x.data(), .y = y.data(), .saved_mean = mean.data(), .saved_inv_std = inv_std.data()});
  layer_norm.run(
      pool, {.x = x.data(), .saved_mean = only_mean.data(), .saved_inv_std = only_inv_std.data()});
  CHECK(same_bits(only_mean, mean));
  CHECK(same_bits(only_inv_std, inv_std));
  const LayerNormDesc scaled{.rows = rows, .length = length, .backward = true, .scaled = true};
  CHECK(LayerNormPrimitive<T>(scaled).name() == "scaled_rows");
}

TEMPLATE_TEST_CASE("without centring, rows are divided by the root of their mean square", "", float,
                   double) {
  using T = TestType;
  const double limit = sizeof(T) == 4 ? 1e-5 : 1e-13;
  for (const Index length : {1, 5, 100}) {
    const Index rows = 33;
    Numbers numbers(static_cast<std::uint64_t>(length));
    const auto x = numbers.row<T>(rows * length), dy = numbers.row<T>(rows * length);
    const auto scale = numbers.row<T>(length);
    const auto width = static_cast<std::size_t>(length);
    const double epsilon = static_cast<double>(T(0.01)), n = static_cast<double>(length);
    std::vector<double> y(x.size()), dx(x.size()), dscale(width);
    for (std::size_t at = 0; at < x.size(); at += width) {
      double square = 0, product = 0;
      for (std::size_t j = 0; j < width; ++j) square += std::pow(double{x[at + j]}, 2) / n;
      const double inverse = 1 / std::sqrt(square + epsilon);
      for (std::size_t j = 0; j < width; ++j) {
        const double hat = double{x[at + j]} * inverse;
        y[at + j] = hat * double{scale[j]};
        dscale[j] += double{dy[at + j]} * hat;
        product += double{dy[at + j]} * double{scale[j]} * hat / n;
      }
      for (std::size_t j = 0; j < width; ++j) {
        const double hat = double{x[at + j]} * inverse;
        dx[at + j] = inverse * (double{dy[at + j]} * double{scale[j]} - hat * product);
      }
    }
    std::vector<T> out(x.size()), mean(static_cast<std::size_t>(rows)), inv_std(mean.size());
    std::vector<T> ds(width);
    check<T>(y, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      LayerNormPrimitive<T>({.rows = rows, .length = length, .epsilon = epsilon, .centred = false},
                            kernels)
          .run(pool, {.x = x.data(),
                      .scale = scale.data(),
                      .y = out.data(),
                      .saved_mean = mean.data(),
                      .saved_inv_std = inv_std.data()});
      return out;
    });
    CHECK(mean == std::vector<T>(mean.size()));
    const auto gradient = [&](ThreadPool& pool, const SimdTables& kernels) {
      LayerNormPrimitive<T>(
          {.rows = rows, .length = length, .backward = true, .scaled = true, .centred = false},
          kernels)
          .run(pool, {.x = x.data(),
                      .scale = scale.data(),
                      .dy = dy.data(),
                      .mean = mean.data(),
                      .inv_std = inv_std.data(),
                      .dx = out.data(),
                      .dscale = ds.data()});
    };
    check<T>(dx, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      gradient(pool, kernels);
      return out;
    });
    check<T>(dscale, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      gradient(pool, kernels);
      return ds;
    });
  }
}
