// Swish and Gelu of one tensor times another, and their derivatives in one pass.
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "tests/kernels/common/numbers.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

struct Gate {
  graph::Attributes attributes;
  std::function<double(double)> value, slope;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Gate swish(double alpha) {
  return {{{"activation", std::string("Swish")}, {"alpha", static_cast<float>(alpha)}},
          [=](double x) { return x * sigmoid(alpha * x); },
          [=](double x) {
            const double s = sigmoid(alpha * x);
            return s * (1 + alpha * x * (1 - s));
          }};
}

Gate gelu() {
  const auto phi = [](double x) { return (1 + std::erf(x / std::numbers::sqrt2)) / 2; };
  return {{{"activation", std::string("Gelu")}},
          [=](double x) { return x * phi(x); },
          [=](double x) {
            return phi(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
          }};
}

Gate gelu_by_tanh() {
  const auto inner = [](double x) {
    return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  };
  return {{{"activation", std::string("Gelu")}, {"approximate", std::string("tanh")}},
          [=](double x) { return x * (1 + std::tanh(inner(x))) / 2; },
          [=](double x) {
            const double t = std::tanh(inner(x));
            const double rise = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
            return (1 + t) / 2 + x * (1 - t * t) * rise / 2;
          }};
}

std::vector<Gate> gates() { return {swish(1), swish(1.5), gelu(), gelu_by_tanh()}; }

OpCase gated(const Gate& gate, std::vector<Value> inputs) {
  return {.op = "GatedActivation",
          .inputs = std::move(inputs),
          .attributes = gate.attributes,
          .domain = "ai.ondine"};
}

OpCase gradient(const Gate& gate, std::vector<Value> inputs) {
  return {.op = "GatedActivationGrad",
          .inputs = std::move(inputs),
          .attributes = gate.attributes,
          .outputs = 3,
          .domain = "ai.ondine"};
}

Closeness closeness_for(DType dtype) {
  Closeness closeness = closeness_of(dtype);
  closeness.atol = std::max(closeness.atol, closeness.rtol);
  return closeness;
}

}  // namespace

TEST_CASE("GatedActivation is the activation of one tensor times another in every float format") {
  for (const Gate& gate : gates()) {
    for (const DType dtype : float_dtypes) {
      CAPTURE(dtype);
      const Tensor a = as_dtype(random_tensor({3, 700}, 1, -4, 4), dtype);
      const Tensor b = as_dtype(random_tensor({3, 700}, 2), dtype);
      const Tensor want =
          reference(a.shape(), {a, b}, [&](const auto& x) { return gate.value(x[0]) * x[1]; });
      check_close(run_op_tensor(gated(gate, {a, b})), as_dtype(want, dtype), closeness_for(dtype));
    }
    check_gradient(gated(gate, {random_tensor({2, 3}, 1), random_tensor({2, 3}, 2)}));
  }
  const Tensor nothing(DType::float32, {0});
  CHECK(run_op_tensor(gated(gelu(), {nothing, nothing})).shape() == Shape{0});
}

TEST_CASE("the derivative of GatedActivation gives both derivatives and the value again") {
  for (const Gate& gate : gates()) {
    for (const DType dtype : float_dtypes) {
      CAPTURE(dtype);
      const Tensor dy = as_dtype(random_tensor({3, 700}, 1), dtype);
      const Tensor a = as_dtype(random_tensor({3, 700}, 2, -4, 4), dtype);
      const Tensor b = as_dtype(random_tensor({3, 700}, 3), dtype);
      const std::vector<Value> got = run_op(gradient(gate, {dy, a, b}));
      const auto wanted = [&](const std::function<double(const std::vector<double>&)>& of) {
        return as_dtype(reference(a.shape(), {dy, a, b}, of), dtype);
      };
      check_close(got[0].tensor(),
                  wanted([&](const auto& x) { return x[0] * x[2] * gate.slope(x[1]); }),
                  closeness_for(dtype));
      CHECK(got[1].tensor().identical(run_op_tensor(gated(gate, {a, b}))));
      check_close(got[2].tensor(), wanted([&](const auto& x) { return x[0] * gate.value(x[1]); }),
                  closeness_for(dtype));
    }
    check_gradient(
        gradient(gate, {random_tensor({4}, 1), random_tensor({4}, 2), random_tensor({4}, 3)}),
        {.order = 1});
  }
}

TEST_CASE("GatedActivation refuses other activations and tensors that differ in shape") {
  const Tensor a = random_tensor({2, 3}, 1);
  Gate other = gelu();
  other.attributes = {{"activation", std::string("Relu")}};
  CHECK_THROWS_WITH(run_op(gated(other, {a, a})), Catch::Contains("needed: \"Swish\" or \"Gelu\""));
  other.attributes = {{"activation", std::string("Gelu")}, {"approximate", std::string("erf")}};
  CHECK_THROWS_WITH(run_op(gated(other, {a, a})), Catch::Contains("needed: \"none\" or \"tanh\""));
  CHECK_THROWS_AS(run_op(gated(gelu(), {a, random_tensor({3}, 1)})), Error);
}

}  // namespace ondine::test
