// Learning rates of each step against closed forms, and runs against steps by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"
#include "trainer/fit/schedule.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

Model adam_model(float rate = 0.5F) {
  graph::ModelDef def = linear_regression(0.05F);
  def.training.clear();
  return prepare(Model::load(encode(def)),
                 {.loss = Loss::mse, .label = "t", .optimizer = Adam{.learning_rate = rate}});
}

// Rates of a run over 20 rows in batches of 4: five steps an epoch.
std::vector<double> rates(const Schedule& schedule, std::uint64_t epochs) {
  Model model = adam_model();
  Trainer trainer(model, {.epochs = epochs, .batch_size = 4, .schedule = schedule});
  std::vector<double> result;
  trainer.on_step([&](const StepReport& step) {
    result.push_back(step.learning_rate.value());
    CHECK(static_cast<double>(model.learning_rate()) == *step.learning_rate);
    return true;
  });
  trainer.fit(Dataset::from(line_data(20)));
  CHECK(model.learning_rate() == 0.5F);
  return result;
}

void check_rates(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("step " << i);
    CHECK(got[i] == Approx(expected[i]).epsilon(1e-6).margin(1e-9));
  }
}

}  // namespace

TEST_CASE("a cosine schedule rises linearly and falls along half a cosine to its final rate") {
  std::vector<double> expected{0.5 * 1 / 3, 0.5 * 2 / 3};
  for (int i = 0; i < 8; ++i) {
    expected.push_back(0.1 + 0.4 * 0.5 * (1 + std::cos(std::numbers::pi * i / 7)));
  }
  check_rates(rates(CosineSchedule{.warmup = 0.2, .final_rate = 0.1}, 2), expected);
  CHECK(expected.back() == Approx(0.1));
}

TEST_CASE("a step schedule multiplies the rate every few epochs") {
  std::vector<double> expected;
  for (int i = 0; i < 25; ++i) expected.push_back(0.5 * std::pow(0.25, i / 10));
  check_rates(rates(StepSchedule{.factor = 0.25, .every = 2}, 5), expected);
}

TEST_CASE("a polynomial schedule falls with its power") {
  std::vector<double> expected;
  for (int i = 0; i < 10; ++i) {
    const double rest = (9.0 - i) / 9;
    expected.push_back(0.05 + 0.45 * rest * rest);
  }
  check_rates(rates(PolynomialSchedule{.final_rate = 0.05, .power = 2}, 2), expected);
}

TEST_CASE("a one-cycle schedule rises along a cosine to the base rate and falls to its final one") {
  std::vector<double> expected;
  for (int i = 0; i < 4; ++i) {
    expected.push_back(0.1 + 0.4 * 0.5 * (1 - std::cos(std::numbers::pi * i / 4)));
  }
  for (int i = 0; i < 6; ++i) {
    expected.push_back(0.5 * 0.5 * (1 + std::cos(std::numbers::pi * i / 5)));
  }
  check_rates(rates(OneCycleSchedule{.warmup = 0.4, .start = 0.2}, 2), expected);
}

TEST_CASE("a constant rate with warm-up stays at the base rate after it") {
  check_rates(rates(ConstantSchedule{.warmup = 0.4}, 1), {0.5 / 3, 1.0 / 3, 0.5, 0.5, 0.5});
}

TEST_CASE("a scheduled run has the bits of steps that are fed its rates") {
  const NamedValues data = line_data(20);
  Model model = adam_model();
  std::vector<float> used;
  Trainer trainer(model, {.epochs = 2,
                          .batch_size = 4,
                          .seed = 3,
                          .learning_rate = 0.25F,
                          .schedule = PolynomialSchedule{}});
  trainer.on_step([&](const StepReport& step) {
    used.push_back(static_cast<float>(*step.learning_rate));
    return true;
  });
  trainer.fit(Dataset::from(data));
  REQUIRE(used.size() == 10);
  CHECK(used[0] == 0.25F);
  Model other = adam_model();
  Feeder feeder(other.algorithm(0).inputs, data);
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto order = shuffled(20, 3, i / 5);
    const auto batch = feeder.take(std::span(order).subspan(i % 5 * 4, 4));
    NamedValues feeds(batch.begin(), batch.end());
    feeds.emplace_back("learning_rate", Tensor::scalar(used[i]));
    other.train_step(feeds);
  }
  CHECK(same_state(model, other));
}

TEST_CASE("a scheduled run that is resumed has the same rates and ends with the same bits") {
  const TemporaryFolder folder;
  const Dataset data = Dataset::from(line_data(20));
  TrainerOptions options{.epochs = 3,
                         .batch_size = 4,
                         .seed = 3,
                         .learning_rate = 0.25F,
                         .schedule = CosineSchedule{.warmup = 0.2}};
  Model whole = adam_model();
  Trainer(whole, options).fit(data);
  for (const int stop : {1, 2, 5, 7, 14}) {
    TrainerOptions half = options;
    half.checkpoint = folder / ("stop" + std::to_string(stop));
    Model first = adam_model();
    Trainer stopped(first, half);
    int steps = 0;
    stopped.on_step([&](const StepReport&) { return ++steps < stop; });
    CHECK(stopped.fit(data).reason == StopReason::requested);
    half.resume = true;
    half.learning_rate.reset();  // the checkpoint's counts
    Model second = adam_model();
    Trainer(second, half).fit(data);
    CHECK(same_state(whole, second));
    half.epochs = 4;
    Model third = adam_model();
    CHECK_THROWS_WITH(Trainer(third, half).fit(data), Contains("over 15 steps"));
  }
}

TEST_CASE("schedules that make no sense are refused") {
  Model model = adam_model();
  const auto make = [&](Schedule schedule) { Trainer(model, {.schedule = schedule}); };
  CHECK_THROWS_WITH(make(ConstantSchedule{.warmup = 1}), Contains("warm-up"));
  CHECK_THROWS_WITH(make(CosineSchedule{.warmup = NAN}), Contains("warm-up"));
  CHECK_THROWS_WITH(make(CosineSchedule{.final_rate = -1}), Contains("final rate"));
  CHECK_THROWS_WITH(make(StepSchedule{.every = 0}), Contains("epochs"));
  CHECK_THROWS_WITH(make(StepSchedule{.factor = 0}), Contains("factor"));
  CHECK_THROWS_WITH(make(PolynomialSchedule{.power = 0}), Contains("power"));
  CHECK_THROWS_WITH(make(OneCycleSchedule{.start = 2}), Contains("start"));
  CHECK_THROWS_WITH(make(OneCycleSchedule{.final_rate = -1}), Contains("final rate"));
  CHECK_THROWS_WITH(make(PlateauSchedule{.factor = 1}), Contains("plateau"));
  CHECK_THROWS_WITH(make(PlateauSchedule{.factor = 0}), Contains("plateau"));
  CHECK_THROWS_WITH(make(PlateauSchedule{.patience = 0}), Contains("patience"));
  CHECK_THROWS_WITH(make(PlateauSchedule{.min_delta = -1}), Contains("improvement"));
  CHECK_THROWS_WITH(make(PlateauSchedule{.min_rate = -1}), Contains("least rate"));
  CHECK_THROWS_WITH(make(ConstantSchedule{.warmup = -0.1}), Contains("warm-up"));
}

TEST_CASE("settings at the end of what schedules allow are accepted") {
  Model model = adam_model();
  const auto make = [&](Schedule schedule) { Trainer(model, {.schedule = schedule}); };
  CHECK_NOTHROW(make(ConstantSchedule{.warmup = 0}));
  CHECK_NOTHROW(make(CosineSchedule{.final_rate = 0}));
  CHECK_NOTHROW(make(StepSchedule{.factor = 2, .every = 1}));
  CHECK_NOTHROW(make(OneCycleSchedule{.start = 0}));
  CHECK_NOTHROW(make(OneCycleSchedule{.start = 1}));
  CHECK_NOTHROW(make(PlateauSchedule{.patience = 1, .min_delta = 0, .min_rate = 0}));
}

TEST_CASE("a plateau schedule multiplies by its factor for each drop, down to its least rate") {
  const PlateauSchedule plateau{.factor = 0.5, .min_rate = 0.1};
  const fit::RunLength length{.epoch = 10, .run = 100};
  for (const auto& [drops, rate] : std::vector<std::pair<std::uint64_t, double>>{
           {0, 0.8}, {1, 0.4}, {2, 0.2}, {3, 0.1}, {9, 0.1}}) {
    CHECK(fit::rate_at(plateau, 0.8, 5, length, drops) == Approx(rate));
  }
  // A base below the least rate stays what it is.
  CHECK(fit::rate_at(plateau, 0.05, 5, length, 3) == Approx(0.05));
}
