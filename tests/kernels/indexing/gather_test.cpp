#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "core/float_formats.h"
#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"
#include "tests/support/standard_form.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

Tensor gathered(const Tensor& x, const Tensor& indices, std::int64_t axis) {
  return run_op_tensor({.op = "Gather", .inputs = {x, indices}, .attributes = {{"axis", axis}}});
}

}  // namespace

TEST_CASE("Gather takes slices by index") {
  const Tensor x = iota<std::int16_t>({3, 4, 2});
  const Tensor indices = Tensor::of<std::int32_t>({2, 2}, std::vector<std::int32_t>{3, -4, 0, 1});
  CHECK(gathered(x, indices, 1).identical(moved<std::int16_t>(x, {3, 2, 2, 2}, [](const Int64s& i) {
    const Int64s source{3, 0, 0, 1};
    return Int64s{i[0], source[static_cast<std::size_t>(2 * i[1] + i[2])], i[3]};
  })));
  CHECK(gathered(iota_strings({3}), Tensor::scalar<std::int64_t>(-1), 0).item<std::string>() ==
        "element number 2");
  CHECK(gathered(x, int64s({}), -1).shape() == Shape{3, 4, 0});
  CHECK(gathered(iota({2, 0}), int64s({1}), 0).shape() == Shape{1, 0});
}

TEST_CASE("Gather names an index outside of the axis") {
  const Tensor x = iota({3, 4});
  CHECK_THROWS_WITH(gathered(x, int64s({0, 4}), 1),
                    Catch::Contains("index 4") && Catch::Contains("size 4"));
  CHECK_THROWS_AS(gathered(x, int64s({-4}), 0), Error);
  CHECK_THROWS_AS(gathered(iota({0}), int64s({0}), 0), Error);
  CHECK_THROWS_AS(gathered(x, int64s({0}), 2), Error);
  CHECK_THROWS_AS(gathered(iota({}), int64s({0}), 0), Error);
}

TEST_CASE("Gather has derivatives, repeated indices add up") {
  const Tensor x = random_tensor({3, 4, 2}, 1);
  check_gradient(
      {.op = "Gather", .inputs = {x, int64s({3, 0, 3, -1})}, .attributes = {{"axis", 1L}}});
  check_gradient({.op = "Gather", .inputs = {x, Tensor::scalar<std::int64_t>(1)}});
}

TEST_CASE("GatherGrad adds 16-bit floats in float") {
  const std::int64_t n = 4096;
  const std::vector<float16> ones(static_cast<std::size_t>(n), to_float16(1));
  const Tensor dx = run_op_tensor(
      {.op = "GatherGrad",
       .inputs = {Tensor::of<float16>({n}, ones), Tensor(DType::int64, {n}), int64s({2})},
       .domain = std::string(graph::ondine_domain)});
  CHECK(as_doubles(dx) == std::vector<double>{4096, 0});
}

TEST_CASE("GatherGrad over many rows gives what a loop gives") {
  const std::int64_t rows = 700;
  const std::int64_t width = 40;
  const std::int64_t n = 300;
  const Tensor dy = random_floats({n, width}, 1);
  Tensor indices(DType::int64, {n});
  std::vector<float> want(static_cast<std::size_t>(rows * width));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = i * i % rows;
    indices.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = row;
    for (std::int64_t k = 0; k < width; ++k) {
      want[static_cast<std::size_t>(row * width + k)] +=
          dy.values<float>()[static_cast<std::size_t>(i * width + k)];
    }
  }
  const Tensor dx = run_op_tensor({.op = "GatherGrad",
                                   .inputs = {dy, indices, int64s({rows, width})},
                                   .domain = std::string(graph::ondine_domain)});
  CHECK(dx.identical(Tensor::of<float>({rows, width}, want)));
}

namespace {

OpCase lookup_sum(const Tensor& dy, const Tensor& indices, const Int64s& shape, const Value& base,
                  std::int64_t axis = 0) {
  return {.op = "GatherGrad",
          .inputs = {dy, indices, int64s(shape), base},
          .attributes = {{"axis", axis}},
          .domain = std::string(graph::ondine_domain)};
}

}  // namespace

TEST_CASE("GatherGrad adds to its base in the order of the indices") {
  const Tensor dy = Tensor::of<float>({2, 3}, {1, 2, 4, 8, 16, 32});
  const Tensor base = Tensor::of<float>({2, 4}, {100, 200, 300, 400, 500, 600, 700, 800});
  const Tensor sum = run_op_tensor(lookup_sum(dy, int64s({3, 0, -1}), {2, 4}, base, 1));
  CHECK(sum.identical(Tensor::of<float>({2, 4}, {102, 200, 300, 405, 516, 600, 700, 840})));
  CHECK(base.values<float>()[0] == 100);
  // 1e8 takes each 3 alone and would take 6 as 8.
  const Tensor large = Tensor::of<float>({1}, {1e8F});
  const Tensor small = Tensor::of<float>({2}, {3, 3});
  CHECK(run_op_tensor(lookup_sum(small, int64s({0, 0}), {1}, large)).item<float>() == 1e8F);
}

TEST_CASE("GatherGrad leaves out slices at indices outside of the axis, which Gather rejects") {
  const Tensor dy = Tensor::of<float>({4, 1}, {1, 2, 4, 8});
  const Tensor sum = run_op_tensor(lookup_sum(dy, int64s({3, -4, 1, -3}), {3, 1}, Value()));
  CHECK(sum.identical(Tensor::of<float>({3, 1}, {8, 4, 0})));
  const Tensor x = random_floats({3, 1}, 1);
  CHECK_THROWS_WITH(run_op_tensor({.op = "Gather", .inputs = {x, int64s({3})}}),
                    Catch::Contains("index 3"));
}

TEST_CASE("GatherGrad adds 16-bit floats to its base in float") {
  const std::int64_t n = 300;
  const std::vector<bfloat16> ones(static_cast<std::size_t>(n), to_bfloat16(1));
  const Tensor base = Tensor::of<bfloat16>({2}, {to_bfloat16(212), to_bfloat16(-7)});
  const Tensor sum = run_op_tensor(
      lookup_sum(Tensor::of<bfloat16>({n}, ones), Tensor(DType::int64, {n}), {2}, base));
  CHECK(as_doubles(sum) == std::vector<double>{512, -7});
}

TEST_CASE("GatherGrad refuses a base of another shape or dtype") {
  const Tensor dy = random_floats({2, 3}, 1);
  const auto sum = [&](const Value& base) {
    return run_op_tensor(lookup_sum(dy, int64s({0, 1}), {4, 3}, base));
  };
  CHECK_NOTHROW(sum(random_floats({4, 3}, 2)));
  CHECK_THROWS_WITH(sum(random_floats({4, 2}, 2)), Catch::Contains("base is tensor(float)[4, 2]"));
  CHECK_THROWS_WITH(sum(random_floats({3}, 2)), Catch::Contains("base"));
  CHECK_THROWS_WITH(sum(random_tensor({4, 3}, 2)), Catch::Contains("base is tensor(double)[4, 3]"));
}

TEST_CASE("GatherGrad has derivatives and a standard form, with a base and without") {
  for (const bool with_base : {false, true}) {
    const Value base = with_base ? Value(random_tensor({2, 4, 3}, 2)) : Value();
    const auto own = lookup_sum(random_tensor({2, 3, 3}, 1), int64s({3, 0, 3}), {2, 4, 3}, base, 1);
    check_gradient(own, {.variants = false});
    check_standard_form(
        {.op = own.op, .inputs = own.inputs, .attributes = own.attributes, .constants = {2}});
    const Value rows = with_base ? Value(random_tensor({4, 3}, 4)) : Value();
    const auto first = lookup_sum(random_tensor({2, 2, 3}, 3),
                                  Tensor::of<std::int64_t>({2, 2}, {0, 2, 2, 3}), {4, 3}, rows);
    check_gradient(first, {.variants = false});
    check_standard_form(
        {.op = first.op, .inputs = first.inputs, .attributes = first.attributes, .constants = {2}});
  }
}
