#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "core/float_formats.h"
#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"
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
