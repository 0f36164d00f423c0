#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

// y = relu(x w) v with x [N, 48], w [48, 64], v [64, 32].
std::vector<std::byte> perceptron() {
  ModelBuilder b("network", 13);
  b.input("x", DType::float32, {"N", 48});
  b.initializer("w", random_floats({48, 64}, 1));
  b.initializer("v", random_floats({64, 32}, 2));
  b.node("MatMul", "", {"x", "w"}, {"h"});
  b.node("Relu", "", {"h"}, {"t"});
  b.node("MatMul", "", {"t", "v"}, {"y"});
  b.output("y", DType::float32, {"N", 32});
  return b.bytes();
}

std::vector<double> losses(Precision precision, int threads) {
  Model model =
      prepare(std::span<const std::byte>(perceptron()), {.loss = Loss::mse, .optimizer = Adam{}},
              {.threads = threads, .precision = precision});
  const Tensor x = random_floats({40, 48}, 3);
  const Tensor label = random_floats({40, 32}, 4);
  std::vector<double> result;
  for (int step = 0; step < 30; ++step) {
    result.push_back(model.train_step({{"x", x}, {"label", label}}).scalar("loss"));
  }
  return result;
}

bool uses(const Model& model, std::string_view isa) {
  PlanRequest request;
  request.shapes.emplace_back("x", Shape{40, 48});
  const PlanReport report = model.plan_report(request);
  return std::any_of(report.nodes.begin(), report.nodes.end(),
                     [&](const PlannedOperator& node) { return node.isa == isa; });
}

}  // namespace

TEST_CASE("training with products in bfloat16 follows that in float32") {
  const std::vector<double> full = losses(Precision::float32, 1);
  const std::vector<double> lower = losses(Precision::bfloat16, 1);
  CHECK((lower == full) == !has_precision(Precision::bfloat16));
  CHECK(lower.back() < lower.front());
  for (std::size_t i = 0; i < full.size(); ++i) {
    CHECK(std::abs(lower[i] - full[i]) <= 0.01 * full[i]);
  }
  CHECK(losses(Precision::bfloat16, 3) == lower);
}

TEST_CASE("the plan says which products are computed in bfloat16") {
  const auto bytes = perceptron();
  const auto rounds = [](const Model& model) {
    return uses(model, "avx512_bf16") || uses(model, "amx_bf16");
  };
  CHECK_FALSE(rounds(Model::load(bytes)));
  const Model lower = Model::load(bytes, {.precision = Precision::bfloat16});
  CHECK(rounds(lower) == has_precision(Precision::bfloat16));
  CHECK(has_precision(Precision::float32));
}

TEST_CASE("models in double keep their precision") {
  const auto infer = [](Precision precision) {
    ModelBuilder b("network", 13);
    b.input("x", DType::float64, {20, 32});
    b.input("w", DType::float64, {32, 24});
    b.node("MatMul", "", {"x", "w"}, {"y"});
    b.output("y", DType::float64, {20, 24});
    const Model model = Model::load(b.bytes(), {.precision = precision});
    const auto thirds = [](const Shape& shape) {
      Tensor tensor(DType::float64, shape);
      double next = 0;
      for (double& value : tensor.mutable_values<double>()) value = std::sin(next += 1) / 3;
      return tensor;
    };
    const Tensor x = thirds({20, 32});
    const Tensor w = thirds({32, 24});
    const Tensor y = model.infer({{"x", x}, {"w", w}})["y"].tensor();
    const auto values = y.values<double>();
    return std::vector<double>(values.begin(), values.end());
  };
  CHECK(infer(Precision::bfloat16) == infer(Precision::float32));
}

}  // namespace ondine::test
