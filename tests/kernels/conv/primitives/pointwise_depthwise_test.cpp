#include "kernels/conv/primitives/pointwise_depthwise.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/kernels/common/row_test.h"
#include "tests/kernels/conv/rounded_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

constexpr double alpha = 1.5;

double activated(double z, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return std::max(z, 0.0);
    case Activation::relu6:
      return std::clamp(z, 0.0, 6.0);
    case Activation::hard_swish:
      return z * std::clamp(z / 6 + 0.5, 0.0, 1.0);
    case Activation::swish:
      return z / (1 + std::exp(-alpha * z));
    case Activation::bounds:
    case Activation::none:
      break;
  }
  return z;
}

// Operands, and y by its definition in double.
template <class T>
struct Case {
  Case(const ConvShape& s, Index in_channels, Activation inner, Activation activation,
       bool with_bias, bool with_rounded_factors = false)
      : desc{s, in_channels, inner, alpha, activation}, biased(with_bias) {
    Numbers numbers(static_cast<std::uint64_t>(s.in[1] + s.in[2] + s.groups));
    const Index plane = volume(s.in);
    x = numbers.row<T>(s.batch * in_channels * plane);
    pointwise = numbers.row<T>(s.groups * in_channels);
    inner_bias = numbers.row<T>(s.groups);
    depthwise = numbers.row<T>(s.groups * volume(s.kernel));
    bias = numbers.row<T>(s.groups);
    std::vector<double> z(static_cast<std::size_t>(s.batch * s.groups * plane));
    if (with_rounded_factors) {
      for (auto* factors : {&x, &pointwise}) {
        for (T& v : *factors) v = static_cast<T>(rounded(static_cast<double>(v)));
      }
    }
    for_products(pointwise_shape(), [&](std::size_t i, std::size_t k, std::size_t o) {
      z[o] += static_cast<double>(x[i]) * static_cast<double>(pointwise[k]);
    });
    const auto of_channel = [&](const std::vector<T>& values, std::size_t i, Index elements) {
      return static_cast<double>(values[i / static_cast<std::size_t>(elements) % values.size()]);
    };
    for (std::size_t i = 0; i < z.size(); ++i) {
      z[i] = activated(z[i] + (biased ? of_channel(inner_bias, i, plane) : 0), inner);
    }
    wanted.resize(static_cast<std::size_t>(s.batch * s.groups * volume(s.out)));
    for_products(s, [&](std::size_t i, std::size_t k, std::size_t o) {
      wanted[o] += z[i] * static_cast<double>(depthwise[k]);
    });
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (biased) wanted[i] += of_channel(bias, i, volume(s.out));
      if (activation != Activation::none) wanted[i] = std::max(wanted[i], 0.0);
      if (activation == Activation::relu6) wanted[i] = std::min(wanted[i], 6.0);
    }
  }

  ConvShape pointwise_shape() const {
    ConvShape s;
    s.batch = desc.shape.batch;
    s.in_channels = desc.in_channels;
    s.out_channels = desc.shape.groups;
    s.in = s.out = desc.shape.in;
    return s;
  }

  std::vector<T> run(ThreadPool& pool, const SimdTables& kernels) const {
    const PointwiseDepthwise<T> primitive(desc, pool.threads(), kernels);
    const Scratch scratch(primitive.workspace());
    std::vector<T> y(wanted.size(), T(5));
    primitive.run(pool,
                  {.x = x.data(),
                   .pointwise = pointwise.data(),
                   .inner_bias = biased ? inner_bias.data() : nullptr,
                   .depthwise = depthwise.data(),
                   .bias = biased ? bias.data() : nullptr,
                   .y = y.data()},
                  scratch);
    CHECK(scratch.intact());
    return y;
  }

  PointwiseDepthwiseDesc desc;
  bool biased;
  std::vector<T> x, pointwise, inner_bias, depthwise, bias;
  std::vector<double> wanted;
};

// Depthwise, of several bands of rows where planes are wide.
ConvShape planes(Index batch, Index channels, Index h, Index w, Index kernel, Index stride,
                 Index dilation, Index pad, Index pad_end) {
  return shape2(batch, channels, channels, channels, h, w, kernel, kernel, stride, dilation, pad,
                pad_end);
}

}  // namespace

TEMPLATE_TEST_CASE("depthwise convolutions of pointwise results follow the definition", "", float,
                   double) {
  using T = TestType;
  for (const ConvShape& s :
       {planes(2, 5, 9, 9, 3, 1, 1, 1, 1), planes(1, 3, 1, 1, 3, 1, 1, 1, 1),
        planes(2, 26, 50, 90, 3, 1, 1, 1, 1), planes(1, 25, 41, 111, 3, 2, 1, 1, 1),
        planes(1, 24, 40, 112, 3, 2, 1, 1, 0), planes(1, 24, 31, 150, 3, 2, 1, 0, 1),
        planes(1, 7, 5, 4000, 3, 1, 1, 1, 1), planes(1, 2, 40, 1700, 3, 1, 1, 2, 0),
        planes(1, 20, 33, 200, 5, 1, 1, 2, 2), planes(1, 13, 30, 310, 3, 1, 2, 2, 2),
        planes(1, 16, 29, 250, 3, 1, 1, 0, 0), planes(1, 24, 40, 112, 2, 3, 1, 0, 0)}) {
    const Case<T> plain(s, 3, Activation::none, Activation::none, false);
    const Case<T> biased(s, 9, Activation::relu, Activation::relu6, true);
    CAPTURE(s.in[1], s.in[2], s.kernel[1], s.stride[1]);
    for (const Case<T>* one : {&plain, &biased}) {
      check<T>(one->wanted, 4 * tolerance<T>, [&](ThreadPool& pool, const SimdTables& kernels) {
        return one->run(pool, kernels);
      });
    }
  }
}

TEMPLATE_TEST_CASE("pointwise results are activated before they are convolved", "", float, double) {
  using T = TestType;
  for (const auto inner :
       {Activation::relu, Activation::relu6, Activation::hard_swish, Activation::swish}) {
    CAPTURE(static_cast<int>(inner));
    const Case<T> one(planes(2, 24, 30, 130, 3, 1, 1, 1, 1), 20, inner, Activation::relu, true);
    check<T>(one.wanted, 4 * tolerance<T>,
             [&](ThreadPool& pool, const SimdTables& kernels) { return one.run(pool, kernels); });
  }
}

TEST_CASE("bands of rows have the bits of the plane as a whole") {
  // The first plane is one band, the second is cut; both have the same rows at their top.
  ConvShape small = planes(1, 2, 12, 700, 3, 1, 1, 1, 1);
  small.out[1] = 11;  // as in the other plane, rows below the last are not its padding
  const ConvShape large = planes(1, 2, 60, 700, 3, 1, 1, 1, 1);
  const Case<float> cut(large, 5, Activation::relu, Activation::none, true);
  Case<float> whole(small, 5, Activation::relu, Activation::none, true);
  whole.pointwise = cut.pointwise;
  whole.depthwise = cut.depthwise;
  whole.inner_bias = cut.inner_bias;
  whole.bias = cut.bias;
  const auto plane = [](const ConvShape& s) { return volume(s.in); };
  for (Index c = 0; c < 5; ++c) {
    std::copy_n(cut.x.begin() + c * plane(large), plane(small), whole.x.begin() + c * plane(small));
  }
  ThreadPool pool(1);
  for (const SimdTables* const kernels : all_kernels()) {
    const std::vector<float> y = cut.run(pool, *kernels), top = whole.run(pool, *kernels);
    for (Index c = 0; c < 2; ++c) {
      const auto begin = top.begin() + c * volume(small.out);
      REQUIRE(std::equal(begin, begin + volume(small.out), y.begin() + c * volume(large.out)));
    }
  }
}

TEST_CASE("nothing is computed of no images, and other shapes are rejected") {
  ThreadPool pool(2);
  const PointwiseDepthwise<float> none({.shape = planes(0, 3, 9, 9, 3, 1, 1, 1, 1)}, 2);
  const Scratch scratch(none.workspace());
  none.run(pool, {}, scratch);
  CHECK(none.name() == "empty");
  for (const ConvShape& s :
       {shape2(2, 4, 4, 2, 9, 40, 3, 3, 1, 1, 1, 1), planes(1, 3, 9, 9, 3, 1, 1, 3, 1),
        planes(1, 3, 9, 9, 3, 1, 1, 1, 4)}) {
    CHECK_THROWS_WITH(PointwiseDepthwise<float>({.shape = s}, 1),
                      Catch::Contains("of a pointwise one"));
  }
}

TEST_CASE("where products round to bfloat16, nothing but their factors is rounded") {
  const SimdTables* const kernels = simd_tables_for(Isa::avx512, ProductMode::bf16);
  if (kernels == nullptr) return;
  const Case<float> one(planes(1, 24, 30, 60, 3, 1, 1, 1, 1), 32, Activation::relu,
                        Activation::none, true, true);
  ThreadPool pool(1);
  CHECK(worst_error(one.run(pool, *kernels), one.wanted) < 4 * tolerance<float>);
}
