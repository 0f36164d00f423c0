#include "kernels/conv/primitives/normalized_conv.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/float_formats.h"
#include "tests/kernels/common/row_test.h"
#include "tests/kernels/conv/conv_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

constexpr double low = -0.4, high = 0.9, epsilon = 0.1, alpha = 1.5;

double activated(double v, Activation activation) {
  if (activation == Activation::swish) return v / (1 + std::exp(-alpha * v));
  if (activation == Activation::hard_swish) return v * std::clamp(v / 6 + 0.5, 0.0, 1.0);
  return std::clamp(v, low, high);
}

// The means and then the variances of each channel.
std::vector<double> statistics(const std::vector<double>& v, Index channels, Index plane) {
  const auto c = static_cast<std::size_t>(channels), p = static_cast<std::size_t>(plane);
  const double count = static_cast<double>(v.size() / c);
  std::vector<double> result(2 * c);
  for (std::size_t i = 0; i < v.size(); ++i) result[i / p % c] += v[i] / count;
  for (std::size_t i = 0; i < v.size(); ++i) {
    result[c + i / p % c] += std::pow(v[i] - result[i / p % c], 2) / count;
  }
  return result;
}

// Operands, and y and the statistics of x and of y by their definition in double.
template <class T>
struct Case {
  Case(const ConvShape& of, Activation with) : s(of), activation(with) {
    Numbers numbers(static_cast<std::uint64_t>(s.in[2] + s.batch));
    x = numbers.row<T>(s.batch * s.groups * volume(s.in));
    for (T& value : x) value += T(1);
    w = numbers.row<T>(s.groups * volume(s.kernel));
    scale = numbers.row<T>(s.groups);
    bias = numbers.row<T>(s.groups);
    const auto plane = static_cast<std::size_t>(volume(s.in));
    const auto channels = static_cast<std::size_t>(s.groups);
    const auto of_x = statistics({x.begin(), x.end()}, s.groups, volume(s.in));
    std::vector<double> z(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i / plane % channels;
      const double hat =
          (static_cast<double>(x[i]) - of_x[c]) / std::sqrt(of_x[channels + c] + epsilon);
      z[i] =
          activated(hat * static_cast<double>(scale[c]) + static_cast<double>(bias[c]), activation);
    }
    wanted.resize(static_cast<std::size_t>(s.batch * s.groups * volume(s.out)));
    for_products(s, [&](std::size_t i, std::size_t k, std::size_t o) {
      wanted[o] += static_cast<double>(w[k]) * z[i];
    });
    const auto of_y = statistics(wanted, s.groups, volume(s.out));
    for (const auto* v : {&of_x, &of_y}) wanted.insert(wanted.end(), v->begin(), v->end());
  }

  std::vector<T> run(ThreadPool& pool, const SimdTables& kernels) const {
    NormalizedConvDesc desc{.shape = s, .threads = pool.threads()};
    desc.norm.epsilon = epsilon;
    desc.norm.activation = activation;
    desc.norm.alpha = alpha;
    if (activation == Activation::bounds) desc.norm.low = low, desc.norm.high = high;
    const NormalizedConv<T> primitive(desc, kernels);
    CHECK(primitive.name() == "depthwise");
    const Scratch scratch(primitive.workspace());
    std::vector<T> results(wanted.size());
    std::vector<std::uint16_t> copy(sizeof(T) == sizeof(float) ? x.size() : 0);
    T* const of_x = results.data() + (results.size() - 4 * scale.size());
    T* const of_y = of_x + 2 * scale.size();
    primitive.run(pool, {.x = x.data(),
                         .scale = scale.data(),
                         .bias = bias.data(),
                         .w = w.data(),
                         .y = results.data(),
                         .bf16_x = copy.empty() ? nullptr : copy.data(),
                         .batch_mean = of_x,
                         .batch_variance = of_x + scale.size(),
                         .y_mean = of_y,
                         .y_variance = of_y + scale.size(),
                         .workspace = scratch});
    CHECK(scratch.intact());
    for (std::size_t i = 0; i < copy.size(); ++i) {
      REQUIRE(copy[i] == to_bfloat16(static_cast<float>(x[i])).bits);
    }
    return results;
  }

  ConvShape s;
  Activation activation;
  std::vector<T> x, w, scale, bias;
  std::vector<double> wanted;
};

}  // namespace

TEMPLATE_TEST_CASE("depthwise convolutions of normalized planes follow the definition", "", float,
                   double) {
  using T = TestType;
  for (const ConvShape& s :
       {shape2(2, 3, 3, 3, 1, 1, 3, 3, 1, 1, 1, 1), shape2(2, 3, 3, 3, 9, 17, 3, 3, 1, 1, 1, 1),
        shape2(3, 50, 50, 50, 7, 7, 3, 3, 1, 1, 1, 1),
        shape2(1, 37, 37, 37, 14, 14, 3, 3, 2, 1, 1, 1),
        shape2(3, 5, 5, 5, 75, 70, 3, 3, 1, 1, 1, 1),
        shape2(2, 18, 18, 18, 57, 63, 3, 3, 2, 1, 1, 1),
        shape2(2, 3, 3, 3, 8, 35, 3, 3, 2, 1, 1, 0),
        shape2(3, 21, 21, 21, 14, 14, 5, 5, 1, 1, 2, 2),
        shape2(9, 20, 20, 20, 13, 15, 5, 5, 2, 1, 2, 2),
        shape2(2, 40, 40, 40, 7, 7, 5, 5, 1, 1, 2, 2),
        shape2(2, 17, 17, 17, 12, 12, 3, 3, 1, 2, 2, 2),
        shape2(2, 4, 4, 4, 9, 8, 2, 3, 3, 1, 0, 0)}) {
    for (const Activation activation :
         {Activation::bounds, Activation::hard_swish, Activation::swish}) {
      CAPTURE(s.in[1], s.in[2], s.kernel[1], s.stride[1], static_cast<int>(activation));
      const Case<T> one(s, activation);
      check<T>(one.wanted, sizeof(T) == 4 ? 1e-5 : 1e-13,
               [&](ThreadPool& pool, const SimdTables& kernels) { return one.run(pool, kernels); });
    }
  }
}

TEST_CASE("statistics of a batch of no images are NaN, other groups are no depthwise convolution") {
  ThreadPool pool(2);
  const NormalizedConv<float> none(
      {.shape = shape2(0, 3, 3, 3, 9, 9, 3, 3, 1, 1, 1, 1), .threads = 2});
  std::vector<float> results(12, 1);
  const Scratch scratch(none.workspace());
  none.run(pool, {.batch_mean = results.data(),
                  .batch_variance = results.data() + 3,
                  .y_mean = results.data() + 6,
                  .y_variance = results.data() + 9,
                  .workspace = scratch});
  for (const float v : results) CHECK(std::isnan(v));
  const NormalizedConvDesc groups{.shape = shape2(2, 4, 4, 2, 9, 40, 3, 3, 1, 1, 1, 1)};
  CHECK(NormalizedConv<float>(groups).name() == "images");
  CHECK_THROWS_WITH(NormalizedConv<float>(groups, "depthwise", simd_tables()),
                    Catch::Contains("no implementation depthwise"));
}
