#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/ops.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// Over the axes [first, last).
Tensor softmax(const Tensor& x, std::size_t first, std::size_t last, bool logarithm) {
  const auto outer = x.shape().size(0, first);
  const auto length = x.shape().size(first, last);
  const auto inner = x.shape().size(last, x.shape().rank());
  Tensor y(DType::float64, x.shape());
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      const auto at = [&](std::int64_t k) {
        return static_cast<std::size_t>((o * length + k) * inner + i);
      };
      double sum = 0;
      for (std::int64_t k = 0; k < length; ++k) sum += std::exp(x.values<double>()[at(k)]);
      for (std::int64_t k = 0; k < length; ++k) {
        const double p = std::exp(x.values<double>()[at(k)]) / sum;
        y.mutable_values<double>()[at(k)] = logarithm ? std::log(p) : p;
      }
    }
  }
  return y;
}

}  // namespace

TEST_CASE("Softmax and LogSoftmax along any axis") {
  const Tensor x = random_tensor({2, 3, 300}, 1);
  for (const std::int64_t axis : {-3, -2, -1, 0, 1, 2}) {
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    check_close(run_op_tensor({"Softmax", {x}, {{"axis", axis}}}), softmax(x, at, at + 1, false));
    check_close(run_op_tensor({"LogSoftmax", {x}, {{"axis", axis}}}), softmax(x, at, at + 1, true));
  }
}

TEST_CASE("From version 13 on Softmax sums over the last axis unless an axis is given") {
  const Tensor x = random_tensor({2, 3, 4}, 2);
  for (const std::int64_t version : {13, 28}) {
    check_close(run_op_tensor({.op = "Softmax", .inputs = {x}, .version = version}),
                softmax(x, 2, 3, false));
    check_close(run_op_tensor({.op = "LogSoftmax", .inputs = {x}, .version = version}),
                softmax(x, 2, 3, true));
    check_gradient({.op = "Softmax", .inputs = {x}, .version = version});
  }
  const Tensor half = Tensor::of<float16>({1, 2, 1}, {float16{0}, float16{0}});
  CHECK(as_doubles(run_op_tensor({"Softmax", {half}})) == std::vector<double>{1, 1});
}

TEST_CASE("Before version 13 Softmax sums over all axes from the given one on") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  check_close(run_op_tensor({.op = "Softmax", .inputs = {x}, .version = 11}),
              softmax(x, 1, 3, false));
  check_close(run_op_tensor(
                  {.op = "LogSoftmax", .inputs = {x}, .attributes = {{"axis", 0L}}, .version = 1}),
              softmax(x, 0, 3, true));
}

TEST_CASE("Softmax of large numbers, of 16-bit floats and of nothing") {
  const auto large = Tensor::of<float>({1, 3}, {1e4F, 1e4F + 1, 1e4F + 2});
  const auto y = as_doubles(run_op_tensor({"Softmax", {large}}));
  CHECK(y[2] == Approx(0.66524096));
  const auto column =
      as_doubles(run_op_tensor({"Softmax", {large.reshaped({3, 1})}, {{"axis", 0L}}}));
  CHECK(column[2] == Approx(0.66524096));
  const Tensor half = Tensor::of<float16>({2}, {float16{0}, float16{0}});
  CHECK(as_doubles(run_op_tensor({"Softmax", {half}})) == std::vector<double>{0.5, 0.5});
  CHECK(run_op_tensor({"Softmax", {random_tensor({0, 3}, 1)}}).shape() == Shape{0, 3});
  CHECK(run_op_tensor({"Softmax", {random_tensor({3, 0, 2}, 1)}, {{"axis", 1L}}}).shape() ==
        Shape{3, 0, 2});
}

TEST_CASE("Softmax rejects an axis outside of the rank") {
  CHECK_THROWS_AS(run_op({"Softmax", {random_tensor({2, 3}, 1)}, {{"axis", 2L}}}), Error);
}
TEST_CASE("Softmax's derivatives") {
  const Tensor x = random_tensor({2, 3, 2}, 1);
  for (const std::int64_t axis : {0, 1, 2}) {
    check_gradient({"Softmax", {x}, {{"axis", axis}}});
    check_gradient({"LogSoftmax", {x}, {{"axis", axis}}});
  }
  check_gradient({.op = "Softmax", .inputs = {x}, .version = 11});
  check_gradient({.op = "LogSoftmax", .inputs = {x}, .version = 11});
}

TEST_CASE("A row without any score has the derivative 0 where nothing depends on it") {
  const std::int64_t axis = GENERATE(0, 1);
  Tensor scores = random_tensor({3, 3}, 1);
  for (std::int64_t k = 0; k < 3; ++k) {
    const std::int64_t at = axis == 1 ? 3 + k : 3 * k + 1;
    scores.mutable_values<double>()[static_cast<std::size_t>(at)] =
        -std::numeric_limits<double>::infinity();
  }
  // As exporters write attention with masks.
  const Expression attention = [&](graph::Builder& b, std::span<const graph::Val> in) {
    const graph::Val y = b.node("Softmax", {in[0]}, {{"axis", axis}});
    const graph::Val zero = graph::scalar_like(y, 0);
    return std::vector{graph::where(graph::unary("IsNaN", y), zero, y)};
  };
  check_gradient(attention, {scores}, {.variants = false});
  // A derivative that is asked for is NaN as the row is.
  const Tensor dy = Tensor::of<double>({1, 2}, {0, 1});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const OpCase one{
      "SoftmaxGrad", {dy, Tensor::of<double>({1, 2}, {nan, nan})}, {}, 1, "ai.ondine", 1};
  const Tensor dx = run_op_tensor(one);
  for (const double element : dx.values<double>()) CHECK(std::isnan(element));
}
