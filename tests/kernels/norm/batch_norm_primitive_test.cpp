#include "kernels/norm/batch_norm_primitive.h"

#include "tests/kernels/common/row_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {
using Index = std::int64_t;
}

TEMPLATE_TEST_CASE("batch normalization and its gradient follow the definition", "", float,
                   double) {
  using T = TestType;
  for (const ChannelShape s : {ChannelShape{1, 1, 1},
                               {2, 3, 1},
                               {64, 70, 1},
                               {4, 5, 9},
                               {3, 40, 49},
                               {2, 3, 5000},
                               {1, 2, 2048},  // whole blocks of a channel's sums
                               {2, 2, 4096},
                               {200, 3, 4}}) {
    Numbers numbers(static_cast<std::uint64_t>(s.spatial));
    auto x = numbers.row<T>(s.batch * s.channels * s.spatial);
    for (auto& value : x) value += 10;  // a mean that is large against the deviation
    const auto dy = numbers.row<T>(s.batch * s.channels * s.spatial);
    const auto scale = numbers.row<T>(s.channels), bias = numbers.row<T>(s.channels);
    const auto channels = static_cast<std::size_t>(s.channels);
    const double count = static_cast<double>(s.batch * s.spatial);
    const T epsilon = T(0.1);
    std::vector<double> mean(channels), variance(channels), dscale(channels), dbias(channels);
    std::vector<double> y(x.size()), dx(x.size()), dx_constant(x.size());
    for (std::size_t c = 0; c < channels; ++c) {
      const auto each = [&](auto&& body) {
        for (Index n = 0; n < s.batch; ++n) {
          for (Index i = 0; i < s.spatial; ++i) {
            body(
                static_cast<std::size_t>((n * s.channels + static_cast<Index>(c)) * s.spatial + i));
          }
        }
      };
      each([&](std::size_t i) { mean[c] += static_cast<double>(x[i]) / count; });
      each([&](std::size_t i) {
        variance[c] += std::pow(static_cast<double>(x[i]) - mean[c], 2) / count;
      });
      const double inverse = 1 / std::sqrt(variance[c] + static_cast<double>(epsilon));
      const auto hat = [&](std::size_t i) {
        return (static_cast<double>(x[i]) - mean[c]) * inverse;
      };
      each([&](std::size_t i) {
        y[i] = hat(i) * static_cast<double>(scale[c]) + static_cast<double>(bias[c]);
        dbias[c] += static_cast<double>(dy[i]);
        dscale[c] += static_cast<double>(dy[i]) * hat(i);
      });
      each([&](std::size_t i) {
        dx_constant[i] = static_cast<double>(scale[c]) * inverse * static_cast<double>(dy[i]);
        dx[i] = static_cast<double>(scale[c]) * inverse *
                (static_cast<double>(dy[i]) - dbias[c] / count - hat(i) * dscale[c] / count);
      });
    }
    std::vector<T> m(channels), v(channels), out(x.size()), ds(channels), db(channels);
    const double limit = sizeof(T) == 4 ? 1e-5 : 1e-13;
    const double eps = static_cast<double>(epsilon);
    using Pass = BatchNormPass;
    const BatchNormArgs<T> forward{.x = x.data(),
                                   .scale = scale.data(),
                                   .bias = bias.data(),
                                   .mean = m.data(),
                                   .variance = v.data(),
                                   .y = out.data(),
                                   .batch_mean = m.data(),
                                   .batch_variance = v.data()};
    const auto train = [&](ThreadPool& pool, const SimdTables& kernels) {
      BatchNormPrimitive<T>({s, Pass::training, eps}, kernels).run(pool, forward);
    };
    check<T>(y, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      train(pool, kernels);
      return out;
    });
    check<T>(mean, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      train(pool, kernels);
      return m;
    });
    check<T>(variance, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      train(pool, kernels);
      return v;
    });
    check<T>(y, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      BatchNormPrimitive<T>({s, Pass::inference, eps}, kernels).run(pool, forward);
      return out;
    });
    const auto gradient = [&](bool constant, ThreadPool& pool, const SimdTables& kernels) {
      BatchNormPrimitive<T>(
          {s, constant ? Pass::backward_constant_statistics : Pass::backward, eps}, kernels)
          .run(pool, {.x = x.data(),
                      .scale = scale.data(),
                      .mean = m.data(),
                      .variance = v.data(),
                      .dy = dy.data(),
                      .dx = out.data(),
                      .dscale = ds.data(),
                      .dbias = db.data()});
    };
    // Bounds around the result, an addend, in place; derivatives within the bounds alone.
    const T low = T(-0.3), high = T(0.4);
    std::vector<double> bounded(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      bounded[i] = std::clamp(y[i] + static_cast<double>(dy[i]), static_cast<double>(low),
                              static_cast<double>(high));
    }
    check<T>(bounded, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      out = x;
      BatchNormArgs<T> in_place = forward;
      in_place.x = out.data();
      in_place.addend = dy.data();
      BatchNormPrimitive<T>(
          {s, Pass::inference, eps, static_cast<double>(low), static_cast<double>(high)}, kernels)
          .run(pool, in_place);
      return out;
    });
    for (const bool constant : {false, true}) {
      std::vector<T> kept = dy, want(x.size()), want_ds(channels), want_db(channels);
      ThreadPool one(1);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (y[i] < static_cast<double>(low) || y[i] > static_cast<double>(high)) kept[i] = 0;
      }
      const Pass pass = constant ? Pass::backward_constant_statistics : Pass::backward;
      BatchNormArgs<T> args{.x = x.data(),
                            .scale = scale.data(),
                            .mean = m.data(),
                            .variance = v.data(),
                            .dy = kept.data(),
                            .dx = want.data(),
                            .dscale = want_ds.data(),
                            .dbias = want_db.data()};
      BatchNormPrimitive<T>({s, pass, eps}).run(one, args);
      args.bias = bias.data();
      args.dy = args.dx = out.data();
      args.dscale = ds.data();
      args.dbias = db.data();
      const BatchNormDesc bounds{.shape = s,
                                 .pass = pass,
                                 .epsilon = eps,
                                 .low = static_cast<double>(low),
                                 .high = static_cast<double>(high),
                                 .masked = true};
      const auto masked = [&](ThreadPool& pool, const SimdTables& kernels) {
        out = dy;
        const BatchNormPrimitive<T> primitive(bounds, kernels);
        CHECK(primitive.name() == "masked_planes");
        primitive.run(pool, args);
        return out;
      };
      check<T>(to_double(want), limit, masked);
      check<T>(to_double(want_ds), limit, [&](ThreadPool& pool, const SimdTables& kernels) {
        masked(pool, kernels);
        return ds;
      });
      check<T>(to_double(want_db), limit, [&](ThreadPool& pool, const SimdTables& kernels) {
        masked(pool, kernels);
        return db;
      });
    }
    check<T>(dx, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      gradient(false, pool, kernels);
      return out;
    });
    check<T>(dx_constant, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      gradient(true, pool, kernels);
      return out;
    });
    check<T>(dscale, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      gradient(true, pool, kernels);
      return ds;
    });
    check<T>(dbias, limit, [&](ThreadPool& pool, const SimdTables& kernels) {
      gradient(false, pool, kernels);
      return db;
    });
  }
}

TEMPLATE_TEST_CASE("the statistics of a channel without elements are NaN", "", float, double) {
  for (const auto* kernels : all_kernels()) {
    for (const ChannelShape& shape : {ChannelShape{0, 3, 1}, {0, 3, 5}, {4, 3, 0}}) {
      ThreadPool pool(2);
      std::vector<TestType> mean(3, 1), variance(3, 1), ones(3, 1);
      BatchNormPrimitive<TestType>({shape, BatchNormPass::training}, *kernels)
          .run(pool, {.scale = ones.data(),
                      .bias = ones.data(),
                      .batch_mean = mean.data(),
                      .batch_variance = variance.data()});
      for (const TestType v : mean) CHECK(std::isnan(v));
      for (const TestType v : variance) CHECK(std::isnan(v));
    }
  }
}

TEMPLATE_TEST_CASE("a result on a bound has the derivative of those within", "", float, double) {
  using T = TestType;
  // Mean 0 and deviation 1, so that y is x; more than a vector of each.
  const ChannelShape shape{1, 1, 40};
  std::vector<T> x(40), dy(40, 1), dx(40), one(1, 1), zero(1, 0), ds(1), db(1);
  const T values[] = {T(-0.75), T(-0.5), T(0), T(0.25), T(0.5), T(1)};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = values[i % 6];
  for (const auto* kernels : all_kernels()) {
    ThreadPool pool(1);
    BatchNormPrimitive<T>({.shape = shape,
                           .pass = BatchNormPass::backward_constant_statistics,
                           .epsilon = 0,
                           .low = -0.5,
                           .high = 0.5,
                           .masked = true},
                          *kernels)
        .run(pool, {.x = x.data(),
                    .scale = one.data(),
                    .bias = zero.data(),
                    .mean = zero.data(),
                    .variance = one.data(),
                    .dy = dy.data(),
                    .dx = dx.data(),
                    .dscale = ds.data(),
                    .dbias = db.data()});
    T count = 0, sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool counts = x[i] >= T(-0.5) && x[i] <= T(0.5);
      CHECK(dx[i] == (counts ? 1 : 0));
      count += counts ? 1 : 0;
      sum += counts ? x[i] : 0;
    }
    CHECK(db[0] == count);
    CHECK(ds[0] == sum);
  }
}

TEST_CASE("batch normalization is chosen by its pass and the elements of a channel") {
  const auto chosen = [](const BatchNormDesc& desc) {
    return std::string(BatchNormPrimitive<float>(desc).name());
  };
  using Pass = BatchNormPass;
  CHECK(chosen({{4, 3, 1}, Pass::training}) == "columns");
  CHECK(chosen({{4, 3, 2}, Pass::training}) == "planes");
  CHECK(chosen({{4, 3, 1}, Pass::inference}) == "planes");
  for (const Pass pass : {Pass::backward, Pass::backward_constant_statistics}) {
    CHECK(chosen({{4, 3, 1}, pass}) == "planes");
    CHECK(chosen({.shape = {4, 3, 1}, .pass = pass, .masked = true}) == "masked_planes");
  }
}

TEMPLATE_TEST_CASE("gradients through smooth activations follow the definition wherever dx lies",
                   "", float, double) {
  using T = TestType;
  constexpr double epsilon = 0.1, alpha = 1.5;
  for (const ChannelShape s : {ChannelShape{2, 3, 1}, {3, 4, 49}, {2, 2, 2501}}) {
    for (const bool swish : {false, true}) {
      for (const bool constant : {false, true}) {
        CAPTURE(s.spatial, swish, constant);
        Numbers numbers(static_cast<std::uint64_t>(s.spatial));
        auto x = numbers.row<T>(s.batch * s.channels * s.spatial);
        for (T& value : x) value *= 5;
        const auto dy = numbers.row<T>(s.batch * s.channels * s.spatial);
        const auto scale = numbers.row<T>(s.channels), bias = numbers.row<T>(s.channels);
        const std::vector<T> mean(scale.size(), T(0.25)), variance(scale.size(), T(0.5));
        const auto channel = [&](std::size_t i) {
          return i / static_cast<std::size_t>(s.spatial) % scale.size();
        };
        const double inverse = 1 / std::sqrt(0.5 + epsilon);
        const double count = static_cast<double>(s.batch * s.spatial);
        std::vector<double> dv(x.size()), total(scale.size()), product(scale.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double hat = (static_cast<double>(x[i]) - 0.25) * inverse;
          const std::size_t c = channel(i);
          const double v = hat * static_cast<double>(scale[c]) + static_cast<double>(bias[c]);
          const double sigmoid = 1 / (1 + std::exp(-alpha * v));
          const double slope = swish       ? sigmoid * (1 + alpha * v * (1 - sigmoid))
                               : v <= -3.0 ? 0
                               : v >= 3.0  ? 1
                                           : v / 3 + 0.5;
          dv[i] = slope * static_cast<double>(dy[i]);
          total[c] += dv[i];
          product[c] += dv[i] * hat;
        }
        std::vector<double> want(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t c = channel(i);
          const double hat = (static_cast<double>(x[i]) - 0.25) * inverse;
          const double through = constant ? 0 : total[c] / count + hat * product[c] / count;
          want[i] = static_cast<double>(scale[c]) * inverse * (dv[i] - through);
        }
        want.insert(want.end(), product.begin(), product.end());
        want.insert(want.end(), total.begin(), total.end());
        BatchNormDesc desc{.shape = s,
                           .pass = constant ? BatchNormPass::backward_constant_statistics
                                            : BatchNormPass::backward,
                           .epsilon = epsilon};
        desc.activation = swish ? Activation::swish : Activation::hard_swish;
        desc.alpha = alpha;
        desc.masked = true;
        for (const int place : {0, 1, 2}) {  // of dx: its own, that of dy, that of x
          CAPTURE(place);
          check<T>(want, sizeof(T) == 4 ? 1e-5 : 1e-13,
                   [&](ThreadPool& pool, const SimdTables& kernels) {
                     std::vector<T> out = place == 2 ? x : dy;
                     out.resize(want.size());
                     T* const sums = out.data() + x.size();
                     BatchNormPrimitive<T>(desc, kernels)
                         .run(pool, {.x = place == 2 ? out.data() : x.data(),
                                     .scale = scale.data(),
                                     .bias = bias.data(),
                                     .mean = mean.data(),
                                     .variance = variance.data(),
                                     .dy = place == 1 ? out.data() : dy.data(),
                                     .dx = out.data(),
                                     .dscale = sums,
                                     .dbias = sums + scale.size()});
                     return out;
                   });
        }
      }
    }
  }
}
