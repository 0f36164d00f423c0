#include <cmath>

#include <catch2/catch.hpp>

#include "autodiff/backward.h"
#include "tests/autodiff/random_graphs.h"
#include "tests/support/gradient_check.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

// The derivative in one random direction, by backward() and by central differences.
void check_direction(std::uint64_t seed) {
  RandomGraph random(seed);
  const auto inputs = random.inputs();
  GradientSetup setup(
      [&](Builder& b, std::span<const Val> xs) { return std::vector<Val>{random.build(b, xs)}; },
      inputs, {}, false);
  const GradientSetup forward = setup.forward();
  const std::vector<Val> one{setup.builder.scalar(1, DType::float64)};
  const auto derivatives =
      setup.evaluate_derivatives(autodiff::backward(setup.builder, setup.ys, one, setup.xs));
  double want = 0;
  double scale = 1;
  std::vector<Tensor> directions;
  for (std::size_t i = 0; i < derivatives.size(); ++i) {
    directions.push_back(random_tensor(derivatives[i].shape(), seed * 16 + i, -1, 1));
    const auto d = derivatives[i].values<double>();
    const auto v = directions.back().values<double>();
    for (std::size_t e = 0; e < d.size(); ++e) {
      want += d[e] * v[e];
      scale = std::max(scale, std::abs(d[e]));
    }
  }
  const auto value_at = [&](double step) {
    std::vector<Value> moved;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Tensor x = inputs[i].tensor().clone();
      auto values = x.mutable_values<double>();
      const auto v = directions[i].values<double>();
      for (std::size_t e = 0; e < values.size(); ++e) values[e] += step * v[e];
      moved.emplace_back(x);
    }
    return forward.outputs_at(moved)[0].tensor().item<double>();
  };
  // A smaller step where the first one crosses a kink.
  double error = 0;
  for (const double step : {1e-5, 1e-6, 1e-7}) {
    const double got = (value_at(step) - value_at(-step)) / (2 * step);
    error = std::abs(got - want);
    if (error <= 1e-5 * std::abs(want) + 1e-7 * scale / step * 1e-5) return;
  }
  INFO("seed " << seed << " derivative " << want);
  CHECK(error == 0);
}

}  // namespace

TEST_CASE("the derivatives of 1000 random graphs equal differences") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) check_direction(seed);
}
