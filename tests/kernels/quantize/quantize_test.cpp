#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "autodiff/backward.h"
#include "core/float_formats.h"
#include "graph/contract/ops.h"
#include "graph/evaluate/graph_runner.h"
#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor zeros(DType dtype, const Shape& shape = {}) { return Tensor(dtype, shape); }

// The elements of any integer format as numbers.
std::vector<double> whole(const Tensor& t) {
  if (t.dtype() == DType::int4 || t.dtype() == DType::int2) {
    return as_doubles(Tensor::wrap(DType::int8, t.shape(), t.data()));
  }
  if (t.dtype() == DType::uint4 || t.dtype() == DType::uint2) {
    return as_doubles(Tensor::wrap(DType::uint8, t.shape(), t.data()));
  }
  return as_doubles(t);
}

std::int64_t code(DType dtype) { return static_cast<std::int64_t>(dtype); }

}  // namespace

TEST_CASE("QuantizeLinear rounds to even and saturates in every integer format") {
  const std::vector<std::tuple<DType, double, double>> formats{
      {DType::uint8, 0, 255},        {DType::int8, -128, 127}, {DType::uint16, 0, 65535},
      {DType::int16, -32768, 32767}, {DType::uint4, 0, 15},    {DType::int4, -8, 7},
      {DType::uint2, 0, 3},          {DType::int2, -2, 1}};
  const std::vector<double> points{-1e9, -3, -1.25, -0.75, -0.25, 0, 0.25, 0.75, 1.25, 2, 5, 1e9};
  const Tensor scale = Tensor::scalar(0.5F);
  for (const auto& [dtype, low, high] : formats) {
    for (const DType from : {DType::float32, DType::float16, DType::bfloat16}) {
      INFO(to_string(dtype) << " from " << to_string(from));
      const Tensor x = numbers({12}, points, from);
      const auto got = whole(
          run_op_tensor({"QuantizeLinear", {x, as_dtype(numbers({}, {0.5}), from), zeros(dtype)}}));
      const auto held = as_doubles(x);
      for (std::size_t i = 0; i < points.size(); ++i) {
        CHECK(got[i] == std::min(std::max(std::nearbyint(held[i] / 0.5), low), high));
      }
    }
    const Tensor x = numbers({12}, points, DType::float32);
    const Tensor y = run_op_tensor({"QuantizeLinear", {x, scale}, {{"output_dtype", code(dtype)}}});
    CHECK(y.dtype() == dtype);
  }
}

TEST_CASE("QuantizeLinear to float8 and float4 rounds as the formats do") {
  const Tensor x = numbers({5}, {-1000, -0.3, 0.7, 3.3, 1e6}, DType::float32);
  const Tensor two = Tensor::scalar(2.0F);
  const auto held = x.values<float>();
  for (const std::int64_t saturate : {0, 1}) {
    const Tensor y = run_op_tensor(
        {"QuantizeLinear", {x, two, zeros(DType::float8e4m3fn)}, {{"saturate", saturate}}});
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(y.values<float8e4m3fn>()[i] ==
            to_float8e4m3fn(static_cast<double>(held[i]) / 2, saturate != 0));
    }
    const Tensor z = run_op_tensor(
        {"QuantizeLinear", {x, two, zeros(DType::float8e5m2)}, {{"saturate", saturate}}});
    CHECK(z.values<float8e5m2>()[4] == to_float8e5m2(5e5, saturate != 0));
  }
  const Tensor y = run_op_tensor({"QuantizeLinear", {x, two, zeros(DType::float4e2m1)}});
  CHECK(y.values<float4e2m1>()[3] == to_float4e2m1(static_cast<double>(held[3]) / 2));
}

TEST_CASE("Scales for a tensor, an axis and blocks") {
  const Tensor x = random_floats({2, 5, 3}, 1, -20, 20);
  const auto place = [](std::int64_t i, std::int64_t axis, std::int64_t block) {
    const std::int64_t at[] = {i / 15, i / 3 % 5, i % 3};
    if (block == 0) return at[axis];
    return (at[0] * ((5 + block - 1) / block) + at[1] / block) * 3 + at[2];
  };
  const auto check = [&](const Tensor& scale, const Tensor& zero, std::int64_t axis,
                         std::int64_t block) {
    INFO(axis << " " << block);
    const graph::Attributes attributes{{"axis", axis}, {"block_size", block}};
    const Tensor y = run_op_tensor({"QuantizeLinear", {x, scale, zero}, attributes});
    const Tensor back = run_op_tensor({"DequantizeLinear", {y, scale, zero}, attributes});
    for (std::int64_t i = 0; i < 30; ++i) {
      const auto k = static_cast<std::size_t>(place(i, axis, block));
      const auto at = static_cast<std::size_t>(i);
      const double s = static_cast<double>(scale.values<float>()[k]);
      const double z = zero.values<std::int8_t>()[k];
      const double q = std::min(
          std::max(std::nearbyint(static_cast<double>(x.values<float>()[at]) / s) + z, -128.0),
          127.0);
      CHECK(static_cast<double>(y.values<std::int8_t>()[at]) == q);
      CHECK(static_cast<double>(back.values<float>()[at]) == Approx((q - z) * s));
    }
  };
  const auto zero_points = [](const Shape& shape) {
    return as_dtype(random_tensor(shape, 9, -5, 5), DType::int8);
  };
  for (const std::int64_t axis : {0, 1, 2}) {
    check(random_floats({x.shape()[static_cast<std::size_t>(axis)]}, 2, 0.1F, 1),
          zero_points({x.shape()[static_cast<std::size_t>(axis)]}), axis, 0);
  }
  for (const std::int64_t block : {1, 2, 3, 5, 7}) {
    const Shape shape{2, (5 + block - 1) / block, 3};
    check(random_floats(shape, 3, 0.1F, 1), zero_points(shape), 1, block);
  }
}

TEST_CASE("The division is made in the dtype of the scale or in `precision`") {
  // 1 / 3 in float16 times 3 tells the precisions apart.
  const Tensor x = Tensor::scalar(10000.6F);
  const auto narrow = Tensor::scalar(to_float16(1.0F));
  const auto q = [&](const graph::Attributes& more) {
    graph::Attributes attributes = more;
    attributes.emplace_back("output_dtype", code(DType::int16));
    return whole(run_op_tensor({"QuantizeLinear", {x, narrow}, attributes}))[0];
  };
  CHECK(q({}) == 10000);
  CHECK(q({{"precision", code(DType::float32)}}) == 10001);
  CHECK(whole(run_op_tensor(
            {"QuantizeLinear", {Tensor::scalar(std::int32_t{7}), Tensor::scalar(2.0F)}}))[0] == 4);
}

TEST_CASE("DequantizeLinear reads every format and writes the dtype asked for") {
  const auto x = Tensor::of<std::int32_t>({3}, {-7, 0, 1000000});
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    const Tensor y = run_op_tensor(
        {"DequantizeLinear", {x, Tensor::scalar(0.001F)}, {{"output_dtype", code(dtype)}}});
    CHECK(y.dtype() == dtype);
    check_close(y, numbers({3}, {-0.007, 0, 1000}, dtype), {8e-3, 1e-6});
  }
  Tensor small(DType::int4, {2});
  small.mutable_values<int4>()[0] = {0xfd};
  small.mutable_values<int4>()[1] = {0x07};
  check_close(run_op_tensor({"DequantizeLinear", {small, Tensor::scalar(2.0F)}}),
              Tensor::of<float>({2}, {-6, 14}));
  const auto tiny = Tensor::of<float8e4m3fn>({1}, {to_float8e4m3fn(-3.5, true)});
  check_close(run_op_tensor({"DequantizeLinear", {tiny, Tensor::scalar(2.0F)}}),
              Tensor::of<float>({1}, {-7}));
  CHECK(run_op_tensor({"DequantizeLinear", {Tensor(DType::int8, {0, 3}), Tensor::scalar(2.0F)}})
            .shape() == Shape{0, 3});
}

TEST_CASE("Quantization rejects what does not fit") {
  const Tensor x = random_floats({2, 3}, 1);
  const Tensor one = Tensor::scalar(1.0F);
  const Tensor two = random_floats({2}, 1);
  CHECK_THROWS_AS(run_op({"QuantizeLinear", {x, two}}), Error);
  CHECK_THROWS_AS(run_op({"QuantizeLinear", {x, two}, {{"axis", 5L}}}), Error);
  CHECK_THROWS_AS(run_op({"QuantizeLinear", {x, random_floats({2, 3}, 1)}}), Error);
  CHECK_THROWS_AS(run_op({"QuantizeLinear", {x, random_floats({2, 3}, 1)}, {{"block_size", 2L}}}),
                  Error);
  CHECK_THROWS_AS(run_op({"QuantizeLinear", {x, one, Tensor(DType::int8, {2})}}), Error);
  CHECK_THROWS_AS(run_op({"QuantizeLinear", {x, one, zeros(DType::int32)}}), Error);
  CHECK_THROWS_AS(run_op({"QuantizeLinear", {x, one, zeros(DType::int8)}, {{"output_dtype", 2L}}}),
                  Error);
  CHECK_THROWS_AS(
      run_op({"DequantizeLinear", {Tensor(DType::int8, {2}), one, zeros(DType::uint8)}}), Error);
  CHECK_THROWS_AS(
      run_op({"DequantizeLinear", {Tensor(DType::int8, {2}), one}, {{"output_dtype", 3L}}}), Error);
}

TEST_CASE("DynamicQuantizeLinear fills the range") {
  const auto x = Tensor::of<float>({6}, {0, 2, -3, -2.5F, 1.34F, 0.5F});
  const auto got = run_op({"DynamicQuantizeLinear", {x}, {}, 3});
  CHECK(as_doubles(got[1].tensor())[0] == Approx(5.0 / 255));
  CHECK(got[2].tensor().item<std::uint8_t>() == 153);
  const std::vector<int> want{153, 255, 0, 26, 221, 179};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(static_cast<int>(got[0].tensor().item<std::uint8_t>(i)) == want[i]);
  }
  const auto nothing = run_op({"DynamicQuantizeLinear", {Tensor(DType::float32, {3})}, {}, 3});
  CHECK(nothing[0].tensor().item<std::uint8_t>(2) == 0);
  check_gradient({"DynamicQuantizeLinear", {random_tensor({2, 3}, 1)}, {}, 3}, {.order = 1});
}

TEST_CASE("Scales and zero points of blocks have the same shape") {
  const auto zero = [](const Shape& shape) { return Tensor(DType::uint8, shape); };
  const graph::Attributes blocks{{"axis", 0L}, {"block_size", 2L}};
  CHECK_THROWS_WITH(run_op({"QuantizeLinear",
                            {random_tensor({4, 3}, 1), random_tensor({2, 3}, 2), zero({2, 2})},
                            blocks}),
                    Catch::Contains("dims of scale and zero point"));
  CHECK_THROWS_WITH(
      run_op({"DequantizeLinear", {zero({4, 3}), random_tensor({2, 3}, 2), zero({1, 3})}, blocks}),
      Catch::Contains("dims of scale and zero point"));
}

TEST_CASE("The derivative of DequantizeLinear by its scales") {
  const Tensor x = as_dtype(random_tensor({2, 4, 3}, 1, -9, 9), DType::int8);
  const auto zero = [](const Shape& s) {
    return as_dtype(random_tensor(s, 3, -3, 3), DType::int8);
  };
  check_gradient({"DequantizeLinear", {x, random_tensor({}, 2), zero({})}},
                 {.dynamic_dims = false});
  check_gradient({"DequantizeLinear", {x, random_tensor({4}, 2), zero({4})}},
                 {.dynamic_dims = false});
  check_gradient(
      {"DequantizeLinear", {x, random_tensor({2, 2, 3}, 2), zero({2, 2, 3})}, {{"block_size", 2L}}},
      {.dynamic_dims = false});
  // One row, and one scale for all of a tensor of any rank.
  const auto rows = [&](const Shape& shape) {
    return as_dtype(random_tensor(shape, 4, -9, 9), DType::int8);
  };
  check_gradient({"DequantizeLinear",
                  {rows({1, 4}), random_tensor({1, 2}, 2), zero({1, 2})},
                  {{"block_size", 2L}}},
                 {.dynamic_dims = false});
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}}) {
    check_gradient({"DequantizeLinear", {rows(shape), random_tensor({1}, 2), zero({1})}},
                   {.dynamic_dims = false});
  }
}

TEST_CASE("Rounding between QuantizeLinear and DequantizeLinear counts as the identity") {
  graph::Graph g;
  graph::Builder b(g, catalogue());
  b.set_expand([](const graph::Node& node) {
    return node.op->grad == nullptr && node.op->expand != nullptr;
  });
  const auto input = [&](const Shape& shape) {
    g.inputs.push_back(g.add_temporary("x", graph::Type::tensor(DType::float64, shape)));
    return b.value(g.inputs.back());
  };
  const graph::Val v = input({4});
  const graph::Val s = input({});
  const graph::Val zero = b.constant(Tensor::scalar(std::int8_t{3}));
  const graph::Val q = b.node("QuantizeLinear", {v, s, zero});
  const graph::Val y = b.node("DequantizeLinear", {q, s, zero});
  const graph::Val dy = input({4});
  const std::vector<graph::Val> xs{v, s};
  const auto dx = autodiff::backward(b, {&y, 1}, {&dy, 1}, xs);
  g.outputs = {y.id(), dx[0].id(), dx[1].id()};
  // 100 / 0.5 is saturated: 127 - 3 = 124.
  const std::vector<double> point{0.6, -1.3, 100, 0.25};
  const std::vector<double> weight{1, 2, 4, 8};
  const auto got =
      graph::evaluate(g, std::vector<Value>{Tensor::of<double>({4}, point), Tensor::scalar(0.5),
                                            Tensor::of<double>({4}, weight)});
  check_close(got[0].tensor(), Tensor::of<double>({4}, {0.5, -1.5, 62, 0}));
  check_close(got[1].tensor(), Tensor::of<double>({4}, {1, 2, 0, 8}));
  const double ds = 1 * (1 - 1.2) + 2 * (-3 + 2.6) + 4 * 124 + 8 * (0 - 0.5);
  check_close(got[2].tensor(), Tensor::scalar(ds));
}
