// Runs that accumulate gradients, average parameters and wait for plateaus.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

PrepareOptions line_options(std::optional<std::uint64_t> accumulate) {
  return {.loss = Loss::mse,
          .label = "t",
          .optimizer = Adam{.learning_rate = 0.05F},
          .init = WeightInit::keep,
          .average = WeightAverage{.decay = 0.75F},
          .accumulate = accumulate};
}

Model line(std::optional<std::uint64_t> accumulate) {
  graph::ModelDef def = linear_regression(0.05F);
  def.training.clear();
  return prepare(Model::load(encode(def)), line_options(accumulate));
}

// Adam, dropout, accumulation and averages in one model.
Model classifier() {
  graph::ModelDef def = dropout_classifier();
  def.training.clear();
  return prepare(Model::load(encode(def)), {.loss = Loss::softmax_cross_entropy,
                                            .optimizer = Adam{.learning_rate = 0.02F},
                                            .clip_norm = 1,
                                            .init = WeightInit::keep,
                                            .average = WeightAverage{.decay = 0.9F},
                                            .accumulate = 3});
}

}  // namespace

TEST_CASE("a run takes accumulate steps, then an update, also after the last short group") {
  const NamedValues data = line_data(22);
  Model model = line(3);
  Trainer trainer(model, {.epochs = 2, .batch_size = 4, .seed = 3});
  trainer.fit(Dataset::from(data));
  Model other = line(3);
  Feeder feeder(other.algorithm(0).inputs, data);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    const auto order = shuffled(22, 3, epoch);
    for (std::size_t batch = 0; batch < 6; ++batch) {
      const std::size_t count = batch == 5 ? 2 : 4;
      const auto rows = feeder.take(std::span(order).subspan(4 * batch, count));
      other.train_step(rows, 0);
      if (batch % 3 != 2) continue;
      NamedValues x;
      for (const NamedValue& one : rows) {
        if (one.first == "x") x.push_back(one);
      }
      other.train_step(x, 1);
    }
  }
  CHECK(same_state(model, other));
  CHECK(model.steps() == 16);
}

TEST_CASE("accumulating over small batches trains as large batches do") {
  const Dataset data = Dataset::from(line_data(22));
  Model small = line(5);
  Trainer(small, {.epochs = 3, .batch_size = 4, .accumulate = 3}).fit(data);
  Model large = line({});
  Trainer(large, {.epochs = 3, .batch_size = 12}).fit(data);
  const auto a = small.parameters();
  const auto b = large.parameters();
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-4));
}

TEST_CASE("a run with all that training has is resumed after any step with the same bits") {
  const TemporaryFolder folder;
  const Dataset training = Dataset::from(classes_data(22));
  const Dataset validation = Dataset::from(classes_data(9));
  TrainerOptions options{.epochs = 3,
                         .batch_size = 4,
                         .seed = 3,
                         .averaged = true,
                         .schedule = CosineSchedule{.warmup = 0.2},
                         .early_stopping = EarlyStopping{.patience = 2, .min_delta = 0.001}};
  for (const bool waits : {false, true}) {
    if (waits) options.schedule = PlateauSchedule{.patience = 1, .min_delta = 0.5};
    Model whole = classifier();
    std::vector<Metrics> expected;
    TrainerOptions first_options = options;
    first_options.checkpoint = folder / (waits ? "plateau.ckpt" : "cosine.ckpt");
    Trainer uninterrupted(whole, first_options);
    uninterrupted.on_epoch([&](const EpochReport& one) { expected.push_back(one.validation); });
    uninterrupted.fit(training, validation);
    for (int stop = 1; stop <= 18; ++stop) {
      INFO("stopped after step " << stop);
      TrainerOptions parts = options;
      parts.checkpoint = folder / ("stop" + std::to_string(stop) + (waits ? "p" : "c"));
      Model first = classifier();
      Trainer stopped(first, parts);
      int steps = 0;
      stopped.on_step([&](const StepReport&) { return ++steps < stop; });
      stopped.fit(training, validation);
      if (steps < stop) break;  // early stopping
      parts.resume = true;
      Model second = classifier();
      Trainer resumed(second, parts);
      Metrics last;
      resumed.on_epoch([&](const EpochReport& one) { last = one.validation; });
      resumed.fit(training, validation);
      CHECK(same_state(whole, second));
      if (!last.empty()) CHECK(last["loss"] == expected.back()["loss"]);
    }
  }
}

TEST_CASE("a rate that waits for a plateau falls after epochs without improvement") {
  Model model = line({});
  // No epoch improves by so much, so that every second one lowers the rate.
  Trainer trainer(
      model,
      {.epochs = 7,
       .batch_size = 11,
       .schedule = PlateauSchedule{
           .metric = "loss", .factor = 0.5, .patience = 2, .min_delta = 1000, .min_rate = 0.02}});
  std::vector<double> rates;
  trainer.on_epoch([&](const EpochReport& one) { rates.push_back(one.learning_rate.value()); });
  trainer.fit(Dataset::from(line_data(22)));
  const std::vector<double> expected{0.05, 0.05, 0.05, 0.025, 0.025, 0.02, 0.02};
  REQUIRE(rates.size() == expected.size());
  for (std::size_t i = 0; i < rates.size(); ++i) CHECK(rates[i] == Approx(expected[i]));
}

TEST_CASE("validation with averages leaves the trained parameters as they are") {
  const Dataset training = Dataset::from(line_data(22));
  const Dataset validation = Dataset::from(line_data(6));
  Model plain = line({});
  Trainer(plain, {.epochs = 2, .batch_size = 4}).fit(training, validation);
  Model averaged = line({});
  Trainer trainer(averaged, {.epochs = 2, .batch_size = 4, .averaged = true});
  double loss = 0;
  trainer.on_epoch([&](const EpochReport& one) { loss = one.validation["loss"]; });
  trainer.fit(training, validation);
  CHECK(same_state(plain, averaged));
  const double trained = trainer.evaluate(validation).metrics["loss"];
  CHECK(trained != loss);
  take_averages(averaged);
  CHECK(trainer.evaluate(validation).metrics["loss"] == loss);
}

TEST_CASE("accumulation that a model or a checkpoint does not have is refused") {
  const TemporaryFolder folder;
  Model plain = line({});
  CHECK_THROWS_WITH(Trainer(plain, {.accumulate = 2}), Contains("--accumulate"));
  Model model = line(3);
  CHECK_THROWS_WITH(Trainer(model, {.accumulate = 0}), Contains("at least 1 batch"));
  const Dataset data = Dataset::from(line_data(22));
  TrainerOptions options{.epochs = 1, .batch_size = 4, .checkpoint = folder / "run.ckpt"};
  Trainer(model, options).fit(data);
  options.resume = true;
  options.accumulate = 2;
  Trainer other(model, options);
  CHECK_THROWS_WITH(other.fit(data), Contains("--accumulate 3, now it is 2"));
  Model without = line_model();
  Trainer unaveraged(without, {.averaged = true});
  CHECK_THROWS_WITH(unaveraged.fit(data), Contains("keeps no averages"));
}
