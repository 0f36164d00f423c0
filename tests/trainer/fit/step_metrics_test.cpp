// Which outputs of a step are metrics.
#include <catch2/catch.hpp>

#include <ondine/trainer.h>

#include "tests/trainer/adapters/network.h"

using namespace ondine;
using namespace ondine::test;

namespace {

std::vector<std::string> metrics_with(PrepareOptions options) {
  options.init = WeightInit::keep;
  return step_metrics(prepare(three_layers(), options));
}

}  // namespace

TEST_CASE("the loss comes first, and next values of state are no metrics") {
  const std::vector<std::string> wanted{"loss", "accuracy"};
  PrepareOptions options;
  CHECK(metrics_with(options) == wanted);
  options.loss_scale = DynamicLossScale{};
  CHECK(metrics_with(options) == wanted);
  options = {};
  options.optimizer = Adam{};
  options.schedule = ModelSchedule{.schedule = CosineSchedule{}, .steps = 10};
  CHECK(metrics_with(options) == wanted);
  options = {};
  options.average = WeightAverage{.decay = 0.9F};
  CHECK(metrics_with(options) == wanted);
}

TEST_CASE("a model without training has no metrics of a step") {
  CHECK_THROWS_AS(step_metrics(Model::load(three_layers())), Error);
}
