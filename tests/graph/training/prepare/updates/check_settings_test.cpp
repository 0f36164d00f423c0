// Settings of updates at the bounds of their ranges.
#include "graph/training/prepare/updates/check_settings.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ondine/error.h>

using namespace ondine;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// "" where the settings are accepted.
std::string refusal(const PrepareOptions& options) {
  try {
    graph::check_update_settings(options);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
    return error.message();
  }
  return "";
}

// A setting that `make` puts into the options takes all of `good` and none of `bad`.
template <class Make>
void check(const std::string& why, const std::vector<float>& good, const std::vector<float>& bad,
           Make make) {
  INFO(why);
  for (const float value : good) {
    INFO(value);
    CHECK(refusal(make(value)).empty());
  }
  for (const float value : bad) {
    INFO(value);
    CHECK_THAT(refusal(make(value)), Catch::StartsWith(why + ", found "));
  }
}

template <class Settings>
void check_rates() {
  check("the learning rate must be a number", {-1, 0, 1e30F}, {infinity, -infinity, not_a_number},
        [](float value) { return PrepareOptions{.optimizer = Settings{.learning_rate = value}}; });
  check("the weight decay must not be negative", {0, 2}, {-1e-30F, infinity, not_a_number},
        [](float value) { return PrepareOptions{.optimizer = Settings{.weight_decay = value}}; });
}

const std::vector<float> fractions{0, 0.5F, 1 - 0x1p-24F};
const std::vector<float> no_fractions{-1e-30F, 1, 2, not_a_number};

template <class Settings>
void check_momentum() {
  check("the momentum must be in [0, 1)", fractions, no_fractions,
        [](float value) { return PrepareOptions{.optimizer = Settings{.momentum = value}}; });
}

template <class Settings>
void check_betas() {
  check("beta1 must be in [0, 1)", fractions, no_fractions,
        [](float value) { return PrepareOptions{.optimizer = Settings{.beta1 = value}}; });
  check("beta2 must be in [0, 1)", fractions, no_fractions,
        [](float value) { return PrepareOptions{.optimizer = Settings{.beta2 = value}}; });
}

}  // namespace

TEST_CASE("settings of every optimizer are refused outside their ranges") {
  check_rates<Sgd>();
  check_rates<Momentum>();
  check_rates<Nesterov>();
  check_rates<Adagrad>();
  check_rates<Adam>();
  check_rates<AdamW>();
  check_rates<Lion>();
  check_rates<Adafactor>();
  check_rates<Muon>();
  check_rates<ScheduleFree>();
  check_rates<AdamW8>();
  check_rates<GaLore>();
  check_rates<Apollo>();
  check_rates<Mezo>();
  check_momentum<Momentum>();
  check_momentum<Nesterov>();
  check_momentum<Muon>();
  check_betas<Adam>();
  check_betas<AdamW>();
  check_betas<Lion>();
  check_betas<Muon>();
  check_betas<ScheduleFree>();
  check_betas<AdamW8>();
  check_betas<GaLore>();
  check_betas<Apollo>();
}

TEST_CASE("projections and distances of losses have a size") {
  check("the factor of projected steps must be positive", {1e-30F, 2},
        {0, -1, not_a_number, infinity},
        [](float value) { return PrepareOptions{.optimizer = GaLore{.scale = value}}; });
  check("the distance of losses must be positive", {1e-30F, 2}, {0, -1, not_a_number, infinity},
        [](float value) { return PrepareOptions{.optimizer = Mezo{.distance = value}}; });
  CHECK(refusal({.optimizer = Apollo{.rank = 1, .every = 1}}).empty());
  CHECK(refusal({.optimizer = Apollo{.rank = 0}}) ==
        "the rank of a projection must be positive, found 0");
  CHECK(refusal({.optimizer = GaLore{.every = 0}}) ==
        "a projection must last at least 1 step, found 0");
}

TEST_CASE("factors of the weight decay are numbers from 0 on") {
  check(
      "the factor of a weight decay must not be negative", {0, 0.5F, 2},
      {-1e-30F, not_a_number, infinity}, [](float value) {
        return PrepareOptions{.decay_groups = {{.pattern = "a"}, {.pattern = "*", .scale = value}}};
      });
}

TEST_CASE("schedule-free training refuses what would read other points or averages") {
  const auto refused = [](PrepareOptions options) {
    options.optimizer = ScheduleFree{};
    return refusal(options);
  };
  CHECK(refused({}).empty());
  CHECK(refused({.average = WeightAverage{}}) ==
        "schedule-free training excludes averages of parameters (--ema, --swa)");
  CHECK(refused({.accumulate = 2}) ==
        "schedule-free training excludes accumulated gradients (--accumulate)");
  CHECK(refused({.qat = DType::int8}) ==
        "schedule-free training excludes quantization-aware training (--qat)");
  CHECK(refused({.privacy = Privacy{.clip = 1, .batch_size = 8}}) ==
        "schedule-free training excludes training with privacy (--dp-clip)");
}

TEST_CASE("clipping, groups, averages and accumulation are refused outside their ranges") {
  const std::vector<float> positive{1e-30F, 1, 1e30F};
  check("the clipping norm must be positive", positive, {0, -1, not_a_number},
        [](float value) { return PrepareOptions{.clip_norm = value}; });
  check("the clipping value must be positive", positive, {0, -1, not_a_number},
        [](float value) { return PrepareOptions{.clip_value = value}; });
  check(
      "the factor of a learning rate must be positive", positive, {0, -1, not_a_number, infinity},
      [](float value) {
        return PrepareOptions{.rate_groups = {{.pattern = "a"}, {.pattern = "*", .scale = value}}};
      });
  check("the decay of averages must be in [0, 1]", {0, 0.5F, 1},
        {-1e-30F, 1 + 0x1p-23F, not_a_number},
        [](float value) { return PrepareOptions{.average = WeightAverage{.decay = value}}; });
  CHECK(refusal({.accumulate = 1}).empty());
  CHECK(refusal({.accumulate = 0}) ==
        "gradients must be accumulated over at least 1 batch, found 0");
  CHECK_THAT(refusal({.loss_scale = StaticLossScale{0}}), Catch::Contains("the loss scale"));
  CHECK_THAT(refusal({.schedule = ModelSchedule{.schedule = CosineSchedule{}}}),
             Catch::Contains("needs the number of steps"));
}
