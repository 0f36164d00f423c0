// Forward-only training against plain loops in double, along the directions that the model draws.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/error.h>

#include "tests/support/models.h"
#include "tests/trainer/prepare/optimizers/reference.h"
#include "trainer/model/load_checked.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::test::optimizers;
using Catch::Contains;

namespace {

const Network network{{4, 7, 3}};

double rounded(float value) { return static_cast<double>(value); }

// The model with its directions as outputs of the step.
Model with_directions(const Network& net, const Mezo& settings) {
  const Model prepared =
      prepare(net.model(), {.loss = Loss::mse, .optimizer = settings, .init = WeightInit::keep});
  graph::ModelDef def = trainer::load_checked(prepared.export_training(), {}).def;
  for (const Variable& one : net.start()) {
    const auto rows = static_cast<std::int64_t>(one.rows);
    const auto columns = static_cast<std::int64_t>(one.columns);
    std::vector<graph::DimDef> dims{rows, columns};
    if (one.is_vector) dims = {columns};
    def.training[0].algorithm->outputs.push_back(
        tensor_value(one.name + ".way", DType::float64, dims));
  }
  return Model::load(encode(def));
}

}  // namespace

TEST_CASE("forward-only steps follow the slope of two losses along a drawn direction") {
  for (const float decay : {0.0F, 0.5F}) {
    const Mezo settings{.learning_rate = 0.01F, .distance = 0.01F, .weight_decay = decay};
    Model model = with_directions(network, settings);
    Variables variables = network.start();
    for (int step = 0; step < 20; ++step) {
      const Results results = model.train_step(network.feeds());
      Variables there = variables;
      Variables back = variables;
      std::vector<Numbers> directions;
      for (std::size_t v = 0; v < variables.size(); ++v) {
        const Tensor z = results[variables[v].name + ".way"].tensor();
        directions.emplace_back(z.values<double>().begin(), z.values<double>().end());
        for (double& one : directions[v]) one /= rounded(settings.distance);
        for (std::size_t i = 0; i < directions[v].size(); ++i) {
          there[v].w[i] += rounded(settings.distance) * directions[v][i];
          back[v].w[i] -= rounded(settings.distance) * directions[v][i];
        }
      }
      CHECK(results.scalar("loss") == Approx(network.loss(there)).epsilon(1e-6));
      const double slope =
          (network.loss(there) - network.loss(back)) / (2 * rounded(settings.distance));
      const double rate = rounded(settings.learning_rate);
      for (std::size_t v = 0; v < variables.size(); ++v) {
        Numbers& w = variables[v].w;
        const Tensor got = model.get_state(variables[v].name);
        for (std::size_t i = 0; i < w.size(); ++i) {
          w[i] -= rate * (slope * directions[v][i] + rounded(decay) * w[i]);
          CHECK(std::abs(got.values<double>()[i] - w[i]) < 1e-6);
        }
      }
    }
  }
}

TEST_CASE("forward-only training learns, draws every step anew and evaluates at its parameters") {
  Model model = prepare(
      network.model(),
      {.loss = Loss::mse, .optimizer = Mezo{.learning_rate = 0.01F}, .init = WeightInit::keep});
  const double before = model.eval_step(network.feeds()).scalar("loss");
  CHECK(before == Approx(network.loss(network.start())).epsilon(1e-9));
  const Tensor first = model.get_state("w0");
  for (int i = 0; i < 300; ++i) model.train_step(network.feeds());
  CHECK(model.eval_step(network.feeds()).scalar("loss") < 0.5 * before);
  CHECK_FALSE(model.get_state("w0").identical(first));
}

TEST_CASE("a step of forward-only training needs less memory than one with derivatives") {
  const Network deep{{32, 32, 32, 32, 32, 32, 32, 32, 3}, 200};
  const auto bytes = [&](const Optimizer& optimizer) {
    const Model model = prepare(deep.model(), {.loss = Loss::mse, .optimizer = optimizer});
    return model.plan(deep.feeds(), 0).arena_bytes;
  };
  CHECK(bytes(Mezo{}) < bytes(Sgd{}) / 2);
}

TEST_CASE("forward-only training refuses what needs derivatives") {
  PrepareOptions options{.loss = Loss::mse, .optimizer = Mezo{}};
  options.loss_scale = StaticLossScale{128};
  CHECK_THROWS_WITH(prepare(network.model(), options),
                    Contains("forward-only training excludes a factor on the loss (--loss-scale)"));
  options.loss_scale = {};
  options.qat = DType::int8;
  CHECK_THROWS_WITH(prepare(network.model(), options),
                    Contains("forward-only training excludes quantization-aware training (--qat)"));
}
