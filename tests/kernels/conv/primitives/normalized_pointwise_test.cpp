// The primitives of NormalizedConv and its derivative by the weights against their definition.
#include <cmath>

#include <catch2/catch.hpp>

#include "kernels/conv/primitives/conv_grads.h"
#include "kernels/conv/primitives/normalized_conv.h"
#include "tests/kernels/common/row_test.h"

namespace ondine::test {
namespace {

using Index = std::int64_t;

}  // namespace

TEST_CASE("without samples statistics are NaN and the derivative is 0") {
  ThreadPool pool(2);
  const math::ConvShape shape{
      .batch = 0, .in_channels = 3, .out_channels = 2, .in = {1, 14, 14}, .out = {1, 14, 14}};
  for (const std::string way : {"pointwise", "images"}) {
    CAPTURE(way);
    const math::NormalizedConv<float> forward({.shape = shape, .threads = 2}, way,
                                              math::simd_tables());
    std::vector<float> mean(3, 1), variance(3, 1), dw(6, 1);
    const math::test::Scratch scratch(forward.workspace());
    forward.run(
        pool, {.batch_mean = mean.data(), .batch_variance = variance.data(), .workspace = scratch});
    for (const float v : mean) CHECK(std::isnan(v));
    for (const float v : variance) CHECK(std::isnan(v));
    const math::ConvGrads<float> weights({.shape = shape, .normalized = true, .threads = 2},
                                         "normalized_" + way, math::simd_tables());
    const math::test::Scratch memory(weights.workspace());
    weights.run(pool, {.dw = dw.data(), .workspace = memory});
    for (const float v : dw) CHECK(v == 0);
  }
}

TEMPLATE_TEST_CASE("convolutions of normalized planes have the same bits for any number of threads",
                   "", float, double) {
  using T = TestType;
  for (const auto& [batch, in, out, positions] :
       {std::array<Index, 4>{1, 20, 9, 196}, std::array<Index, 4>{3, 300, 33, 225},
        std::array<Index, 4>{5, 37, 4, 5000}}) {
    CAPTURE(batch, in, out, positions);
    math::test::Numbers numbers(static_cast<std::uint64_t>(in));
    const auto x = numbers.row<T>(batch * in * positions);
    const auto dy = numbers.row<T>(batch * out * positions);
    const auto w = numbers.row<T>(out * in);
    const auto scale = numbers.row<T>(in);
    const auto bias = numbers.row<T>(in);
    const math::BatchNormDesc norm{.shape = {}, .epsilon = 0.1, .low = -0.5, .high = 0.75};
    const auto at = [](const std::vector<T>& v, Index i) {
      return static_cast<double>(v[static_cast<std::size_t>(i)]);
    };
    // Expected results by definition; dw comes last.
    std::vector<double> wanted(static_cast<std::size_t>(batch * out * positions + out * in));
    double* const dw = wanted.data() + batch * out * positions;
    for (Index c = 0; c < in; ++c) {
      double mean = 0, variance = 0;
      const double count = static_cast<double>(batch * positions);
      const auto for_each = [&](const auto& visit) {
        for (Index n = 0; n < batch; ++n) {
          for (Index p = 0; p < positions; ++p) visit(n, p, at(x, (n * in + c) * positions + p));
        }
      };
      for_each([&](Index, Index, double v) { mean += v / count; });
      for_each([&](Index, Index, double v) { variance += (v - mean) * (v - mean) / count; });
      for_each([&](Index n, Index p, double v) {
        const double z = std::clamp(
            (v - mean) / std::sqrt(variance + 0.1) * at(scale, c) + at(bias, c), -0.5, 0.75);
        for (Index o = 0; o < out; ++o) {
          wanted[static_cast<std::size_t>((n * out + o) * positions + p)] += at(w, o * in + c) * z;
          dw[o * in + c] += at(dy, (n * out + o) * positions + p) * z;
        }
      });
    }
    math::ConvShape shape;
    shape.batch = batch;
    shape.in_channels = in;
    shape.out_channels = out;
    shape.in = shape.out = {1, 1, positions};
    const auto run = [&](ThreadPool& pool, const math::SimdTables& kernels,
                         const std::string& way) {
      const int threads = pool.threads();
      const math::NormalizedConv<T> forward({.shape = shape, .norm = norm, .threads = threads}, way,
                                            kernels);
      const math::ConvGrads<T> weights(
          {.shape = shape, .normalized = true, .norm = norm, .threads = threads},
          "normalized_" + way, kernels);
      const math::test::Scratch scratch(forward.workspace()), more(weights.workspace());
      std::vector<T> results(wanted.size()), mean(scale.size()), variance(scale.size());
      forward.run(pool, {.x = x.data(),
                         .scale = scale.data(),
                         .bias = bias.data(),
                         .w = w.data(),
                         .y = results.data(),
                         .batch_mean = mean.data(),
                         .batch_variance = variance.data(),
                         .workspace = scratch});
      weights.run(pool, {.dy = dy.data(),
                         .x = x.data(),
                         .scale = scale.data(),
                         .bias = bias.data(),
                         .mean = mean.data(),
                         .variance = variance.data(),
                         .dw = results.data() + batch * out * positions,
                         .workspace = more});
      CHECK(scratch.intact());
      CHECK(more.intact());
      return results;
    };
    const double bound = sizeof(T) == 4 ? 2e-5 : 1e-13;
    for (const std::string way : {"pointwise", "images"}) {
      CAPTURE(way);
      math::test::check<T>(wanted, bound, [&](ThreadPool& pool, const math::SimdTables& kernels) {
        return run(pool, kernels, way);
      });
    }
  }
}

}  // namespace ondine::test
