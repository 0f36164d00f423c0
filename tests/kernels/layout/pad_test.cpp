#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "core/float_formats.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

Tensor padded(const Tensor& x, Int64s pads, std::string mode, Value value = {}, Value axes = {}) {
  return run_op_tensor({.op = "Pad",
                        .inputs = {x, int64s(std::move(pads)), std::move(value), std::move(axes)},
                        .attributes = {{"mode", std::move(mode)}}});
}

std::vector<double> row(Int64s pads, const std::string& mode) {
  return as_doubles(padded(iota<std::int32_t>({3}), std::move(pads), mode));
}

}  // namespace

TEST_CASE("Pad takes its values from the tensor") {
  using Row = std::vector<double>;
  CHECK(row({2, 1}, "constant") == Row{0, 0, 0, 1, 2, 0});
  CHECK(row({2, 2}, "reflect") == Row{2, 1, 0, 1, 2, 1, 0});
  CHECK(row({2, 1}, "edge") == Row{0, 0, 0, 1, 2, 2});
  CHECK(row({4, 2}, "wrap") == Row{2, 0, 1, 2, 0, 1, 2, 0, 1});
  CHECK(row({5, 0}, "reflect") == Row{1, 0, 1, 2, 1, 0, 1, 2});
  CHECK(row({-1, 1}, "constant") == Row{1, 2, 0});
  CHECK(row({-1, -2}, "edge").empty());
  CHECK(row({1, -3}, "constant") == Row{0});
  CHECK(row({-4, 3}, "constant") == Row{0, 0});
}

TEST_CASE("Pad works on several axes, all dtypes and chosen axes") {
  const Tensor x = iota<std::uint8_t>({2, 3});
  const auto reflect = [](std::int64_t i, std::int64_t n) {
    return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
  };
  CHECK(padded(x, {1, 2, 0, 1}, "reflect")
            .identical(moved<std::uint8_t>(x, {3, 6}, [&](const Int64s& i) {
              return Int64s{reflect(i[0] - 1, 2), reflect(i[1] - 2, 3)};
            })));
  CHECK(padded(iota_strings({2}), {1, 0}, "edge").item<std::string>() == "element number 0");
  CHECK(padded(iota_strings({2}), {1, 0}, "constant").item<std::string>().empty());
  CHECK(padded(x, {1, 1}, "constant", Tensor::scalar<std::uint8_t>(9), int64s({-1}))
            .identical(Tensor::of<std::uint8_t>(
                {2, 5}, std::vector<std::uint8_t>{9, 0, 1, 2, 9, 9, 3, 4, 5, 9})));
  CHECK(padded(iota({}), {}, "edge").shape() == Shape{});
}

TEST_CASE("Pad-1 and Pad-2 have attributes") {
  const Tensor x = Tensor::of<float16>({1}, std::vector<float16>{to_float16(1)});
  CHECK(as_doubles(run_op_tensor({.op = "Pad",
                                  .inputs = {x},
                                  .attributes = {{"paddings", Int64s{1, 0}}, {"value", 5.0F}},
                                  .version = 1})) == std::vector<double>{5, 1});
  CHECK(as_doubles(
            run_op_tensor({.op = "Pad",
                           .inputs = {x},
                           .attributes = {{"pads", Int64s{0, 2}}, {"mode", std::string("edge")}},
                           .version = 2})) == std::vector<double>{1, 1, 1});
}

TEST_CASE("Pad rejects what does not fit") {
  const Tensor x = iota({2, 3});
  CHECK_THROWS_AS(padded(x, {1, 1}, "constant"), Error);
  CHECK_THROWS_AS(padded(x, {0, -4, 0, 0}, "constant"), Error);
  CHECK_THROWS_AS(padded(x, {0, 0, 0, 0}, "mirror"), Error);
  CHECK_THROWS_AS(padded(x, {0, INT64_MAX, 0, INT64_MAX}, "constant"), Error);
  CHECK_THROWS_AS(padded(iota({0}), {1, 0}, "edge"), Error);
  CHECK_THROWS_AS(padded(x, {1, 1}, "constant", Tensor::scalar(1.0)), Error);
  CHECK_THROWS_AS(padded(x, {1, 1}, "constant", {}, int64s({2})), Error);
}

TEST_CASE("Pad has derivatives") {
  const Tensor x = random_tensor({2, 3}, 1);
  const std::string mode = GENERATE(as<std::string>(), "constant", "reflect", "edge", "wrap");
  check_gradient(
      {.op = "Pad", .inputs = {x, int64s({1, 4, 0, -1})}, .attributes = {{"mode", mode}}});
  check_gradient({.op = "Pad",
                  .inputs = {x, int64s({2, -1}), Value(), int64s({-1})},
                  .attributes = {{"mode", mode}}});
  check_gradient({.op = "Pad",
                  .inputs = {x},
                  .attributes = {{"mode", mode}, {"pads", Int64s{0, 1, 2, 3}}},
                  .version = 2});
}

TEST_CASE("Pad has a derivative by its constant") {
  check_gradient(
      {.op = "Pad",
       .inputs = {random_tensor({2, 3}, 1), int64s({1, -1, 0, 2}), random_tensor({}, 2)}});
}

TEST_CASE("the derivative of Pad sums 16-bit floats in float") {
  // Each element of dy is 1, so that an element of dx is the number of times that it was padded.
  constexpr std::int64_t rows = 50;
  constexpr std::int64_t columns = 41;
  const Shape padded_shape{rows + 3, columns + 5};
  Tensor wide(DType::float64, padded_shape);
  for (double& one : wide.mutable_values<double>()) one = 1;
  std::vector<float16> halves(static_cast<std::size_t>(wide.size()), to_float16(1));
  const Tensor narrow = Tensor::of<float16>(padded_shape, halves);
  for (const std::string mode : {"constant", "reflect", "edge", "wrap"}) {
    CAPTURE(mode);
    const auto derivative = [&](const Tensor& dy) {
      return as_doubles(run_op_tensor({"PadGrad",
                                       {dy, int64s({rows, columns}), int64s({1, 2, 2, 3})},
                                       {{"mode", mode}},
                                       1,
                                       "ai.ondine"}));
    };
    CHECK(derivative(narrow) == derivative(wide));
  }
}
