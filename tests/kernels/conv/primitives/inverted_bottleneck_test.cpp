#include "kernels/conv/primitives/inverted_bottleneck.h"

#include <catch2/catch.hpp>

#include "kernels/conv/primitives/conv_primitive.h"
#include "kernels/conv/primitives/pointwise_depthwise.h"
#include "tests/kernels/common/lower_kernels.h"
#include "tests/kernels/common/row_test.h"
#include "tests/kernels/conv/rounded_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

// Operands of all tests: relu6 between the convolutions, and biases.
template <class T>
struct Case {
  // Depthwise convolution `s` between `in` channels of x and `out` channels of y.
  Case(const ConvShape& s, Index in, Index out)
      : desc{.inner = {s, in, Activation::relu6, 1, Activation::relu6}, .out_channels = out} {
    Numbers numbers(static_cast<std::uint64_t>(s.in[1] + s.in[2] + s.groups));
    x = numbers.row<T>(s.batch * (in > 0 ? in : s.groups) * volume(s.in));
    pointwise = numbers.row<T>(s.groups * in);
    inner_bias = numbers.row<T>(s.groups);
    depthwise = numbers.row<T>(s.groups * volume(s.kernel));
    bias = numbers.row<T>(s.groups);
    projection = numbers.row<T>(out * s.groups);
    projection_bias = numbers.row<T>(out);
  }

  Index results() const { return desc.inner.shape.batch * volume(desc.inner.shape.out); }

  PointwiseDepthwiseArgs<T> inner_args() const {
    return {.x = x.data(),
            .pointwise = pointwise.data(),
            .inner_bias = inner_bias.data(),
            .depthwise = depthwise.data(),
            .bias = bias.data()};
  }

  // The depthwise results, which the primitive does not store.
  std::vector<T> inner(ThreadPool& pool, const SimdTables& kernels) const {
    std::vector<T> y(static_cast<std::size_t>(results() * desc.inner.shape.groups));
    if (desc.inner.in_channels == 0) {
      const auto conv =
          ConvPrimitive<T>::make({.shape = desc.inner.shape, .activation = desc.inner.activation},
                                 pool.threads(), kernels);
      const Scratch memory(conv.workspace());
      conv.run(pool,
               {.x = x.data(), .w = depthwise.data(), .bias = bias.data(), .result = y.data()},
               memory);
      return y;
    }
    const PointwiseDepthwise<T> primitive(desc.inner, pool.threads(), kernels);
    const Scratch scratch(primitive.workspace());
    PointwiseDepthwiseArgs<T> args = inner_args();
    args.y = y.data();
    primitive.run(pool, args, scratch);
    return y;
  }

  std::vector<T> run(ThreadPool& pool, const SimdTables& kernels) const {
    const InvertedBottleneck<T> primitive(desc, pool.threads(), kernels);
    const Scratch scratch(primitive.workspace());
    std::vector<T> y(static_cast<std::size_t>(results() * desc.out_channels), T(5));
    primitive.run(pool,
                  {.inner = inner_args(),
                   .projection = projection.data(),
                   .projection_bias = projection_bias.data(),
                   .y = y.data()},
                  scratch);
    CHECK(scratch.intact());
    return y;
  }

  // The last convolution by its definition.
  std::vector<double> wanted(const std::vector<double>& z) const {
    const Index channels = desc.inner.shape.groups, plane = volume(desc.inner.shape.out);
    std::vector<double> y;
    for (Index i = 0; i < desc.inner.shape.batch * desc.out_channels; ++i) {
      const Index image = i / desc.out_channels, o = i % desc.out_channels;
      for (Index p = 0; p < plane; ++p) {
        double sum = static_cast<double>(projection_bias[static_cast<std::size_t>(o)]);
        for (Index c = 0; c < channels; ++c) {
          sum += static_cast<double>(projection[static_cast<std::size_t>(o * channels + c)]) *
                 z[static_cast<std::size_t>((image * channels + c) * plane + p)];
        }
        if (desc.activation != Activation::none) sum = std::max(sum, 0.0);
        y.push_back(sum);
      }
    }
    return y;
  }

  InvertedBottleneckDesc desc;
  std::vector<T> x, pointwise, inner_bias, depthwise, bias, projection, projection_bias;
};

ConvShape planes(Index batch, Index channels, Index h, Index w, Index kernel = 3, Index stride = 1,
                 Index pad = 1) {
  return shape2(batch, channels, channels, channels, h, w, kernel, kernel, stride, 1, pad, pad);
}

// Planes of one band, joined images, and several bands.
std::vector<ConvShape> shapes() {
  return {planes(1, 5, 9, 9),
          planes(3, 26, 7, 7),
          planes(20, 17, 7, 7, 3, 2),
          planes(5, 40, 14, 14),
          planes(2, 33, 60, 90),
          planes(1, 50, 112, 111, 3, 2),
          planes(2, 25, 75, 50, 5, 1, 2),
          planes(1, 7, 5, 4000),
          planes(1, 96, 40, 112, 2, 3, 0),
          planes(9, 3, 1, 1),
          planes(1, 200, 40, 40, 3, 1, 0)};
}

template <class T>
Case<double> in_double(const Case<T>& c) {
  Case<double> d(c.desc.inner.shape, c.desc.inner.in_channels, c.desc.out_channels);
  d.desc = c.desc;
  d.x = to_double(c.x);
  d.pointwise = to_double(c.pointwise);
  d.inner_bias = to_double(c.inner_bias);
  d.depthwise = to_double(c.depthwise);
  d.bias = to_double(c.bias);
  d.projection = to_double(c.projection);
  d.projection_bias = to_double(c.projection_bias);
  return d;
}

std::vector<std::uint16_t> rounded_elements(const std::vector<float>& values) {
  std::vector<std::uint16_t> to;
  for (const float v : values) to.push_back(std::bit_cast<std::uint16_t>(to_bfloat16(v)));
  return to;
}

}  // namespace

TEMPLATE_TEST_CASE("inverted bottlenecks are their convolutions one after the other", "", float,
                   double) {
  using T = TestType;
  ThreadPool pool(1);
  for (const ConvShape& s : shapes()) {
    for (const Index in : {9, 0}) {
      CAPTURE(s.batch, s.groups, s.in[1], s.in[2], s.kernel[1], s.stride[1], in);
      Case<T> one(s, in, 11);
      one.desc.activation = s.batch > 1 ? Activation::relu : Activation::none;
      const Case<double> exact = in_double(one);
      const std::vector<double> wanted = exact.wanted(exact.inner(pool, *all_kernels()[0]));
      check<T>(wanted, 8 * tolerance<T>, [&](ThreadPool& threads, const SimdTables& kernels) {
        return one.run(threads, kernels);
      });
    }
  }
}

TEST_CASE("inverted bottlenecks that round factors have the bits of their convolutions") {
  ThreadPool pool(3);
  const SimdTables* const given = each_lower_kernels();
  const Index in = GENERATE(Index{24}, Index{0});
  if (given == nullptr || simd_tables_for(Isa::avx512) == nullptr) return;
  const SimdTables set = as_rounding(*given);
  const SimdTables* const kernels = &set;
  for (const ConvShape& s :
       {planes(2, 48, 30, 62), planes(9, 40, 7, 7), planes(3, 64, 14, 14),
        planes(1, 100, 60, 112, 3, 2), planes(2, 33, 20, 20), planes(1, 20, 90, 120)}) {
    CAPTURE(s.batch, s.groups, s.in[1], s.in[2], s.stride[1], in);
    const Case<float> one(s, in, 20);
    ConvDesc last;
    last.shape.batch = s.batch;
    last.shape.in_channels = s.groups;
    last.shape.out_channels = 20;
    last.shape.in = last.shape.out = s.out;
    const auto conv = ConvPrimitive<float>::make(last, 3, "pointwise_bf16", *kernels);
    const Scratch scratch(conv.workspace());
    const std::vector<float> z = one.inner(pool, *kernels);
    std::vector<float> wanted(static_cast<std::size_t>(one.results() * 20));
    conv.run(pool,
             {.x = z.data(),
              .w = one.projection.data(),
              .bias = one.projection_bias.data(),
              .result = wanted.data()},
             scratch);
    CHECK(same_bits(one.run(pool, *kernels), wanted));

    // From and to bfloat16.
    Case<float> narrow = one;
    for (auto* values : {&narrow.x, &narrow.pointwise, &narrow.projection}) {
      for (float& v : *values) v = static_cast<float>(rounded(double{v}));
    }
    const std::vector<std::uint16_t> y = rounded_elements(narrow.run(pool, *kernels));
    const auto x = rounded_elements(narrow.x), first = rounded_elements(narrow.pointwise),
               second = rounded_elements(narrow.projection);
    narrow.desc.inner.x_stored = Storage::bf16;
    if (in > 0) narrow.desc.inner.pointwise_stored = Storage::bf16;
    narrow.desc.projection_stored = narrow.desc.y_stored = Storage::bf16;
    const InvertedBottleneck<float> primitive(narrow.desc, 3, *kernels);
    REQUIRE(primitive.rounds_expansion() == (in > 0));
    REQUIRE((primitive.rounds_projection() && primitive.rounds_result() && primitive.reads_x()));
    const Scratch memory(primitive.workspace());
    InvertedBottleneckArgs<float> args{.inner = narrow.inner_args()};
    args.inner.x = x.data();
    if (in > 0) args.inner.pointwise = first.data();
    args.projection = second.data();
    args.projection_bias = narrow.projection_bias.data();
    std::vector<std::uint16_t> got(y.size());
    args.y = got.data();
    primitive.run(pool, args, memory);
    CHECK(memory.intact());
    CHECK(got == y);
  }
}

TEST_CASE("a bottleneck of no images computes nothing, and other shapes are rejected") {
  ThreadPool pool(2);
  const InvertedBottleneck<float> none({.inner = {.shape = planes(0, 3, 9, 9)}}, 2);
  const Scratch scratch(none.workspace());
  none.run(pool, {}, scratch);
  CHECK(none.name() == "empty");
  CHECK_FALSE(none.rounds_result());
  CHECK_THROWS_WITH(InvertedBottleneck<float>({.inner = {.shape = planes(1, 3, 9, 9, 3, 1, 3)}}, 1),
                    Catch::Contains("of a pointwise one"));
}
