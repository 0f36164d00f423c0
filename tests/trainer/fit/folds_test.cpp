#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/trainer.h>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

TrainerOptions in_folds(std::uint64_t folds) {
  return {.epochs = 3, .batch_size = 4, .seed = 7, .folds = folds};
}

}  // namespace

TEST_CASE("each fold is a run of its own from the same state, and all rows train the model") {
  const Dataset data = Dataset::from(line_data(20));
  Model model = line_model();
  const FitReport report = Trainer(model, in_folds(4)).fit(data);
  REQUIRE(report.folds.size() == 4);
  const auto parts = data.folds(4, 7);
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    Model one = line_model();
    Trainer trainer(one, {.epochs = 3, .batch_size = 4, .seed = 7});
    trainer.fit(parts[i].first, parts[i].second);
    const double loss = trainer.evaluate(parts[i].second).metrics["loss"];
    CHECK(report.folds[i].metrics["loss"] == loss);
    CHECK(report.folds[i].training_rows == 15);
    CHECK(report.folds[i].rows == 5);
    CHECK(report.folds[i].epochs == 3);
    sum += loss;
  }
  double squares = 0;
  for (const FoldReport& one : report.folds) squares += std::pow(one.metrics["loss"] - sum / 4, 2);
  CHECK(report.fold_mean["loss"] == Approx(sum / 4));
  CHECK(report.fold_deviation["loss"] == Approx(std::sqrt(squares / 3)));
  Model whole = line_model();
  Trainer(whole, {.epochs = 3, .batch_size = 4, .seed = 7}).fit(data);
  CHECK(same_state(model, whole));
  CHECK(report.epochs == 3);
}

TEST_CASE("all rows train for the mean of the folds' best epochs where validation stops early") {
  const Dataset data = Dataset::from(line_data(20));
  Model model = line_model();
  TrainerOptions options = in_folds(2);
  options.epochs = 6;
  // Only the first epoch improves so much, so that it is the best one of each fold.
  options.early_stopping = EarlyStopping{.patience = 2, .min_delta = 1000};
  const FitReport report = Trainer(model, options).fit(data);
  CHECK(report.folds[0].best_epoch == 1);
  CHECK(report.folds[0].epochs == 3);
  CHECK(report.epochs == 1);
}

TEST_CASE("callbacks are told the fold, and a callback that stops ends it all") {
  const Dataset data = Dataset::from(line_data(20));
  Model model = line_model();
  std::vector<std::uint64_t> told;
  Trainer trainer(model, in_folds(2));
  trainer.on_epoch([&](const EpochReport& epoch) {
    told.push_back(epoch.fold);
    CHECK(epoch.validation.empty() == (epoch.fold == 0));
  });
  trainer.fit(data);
  CHECK(told == std::vector<std::uint64_t>{1, 1, 1, 2, 2, 2, 0, 0, 0});
  Model other = line_model();
  Trainer stopped(other, in_folds(2));
  stopped.on_step([&](const StepReport& step) { return step.fold != 2; });
  const FitReport report = stopped.fit(data);
  CHECK(report.reason == StopReason::requested);
  CHECK(report.folds.size() == 1);
  CHECK(same_state(other, line_model()));
}

TEST_CASE("folds write no files, the training on all rows does") {
  const TemporaryFolder folder;
  Model model = line_model();
  TrainerOptions options = in_folds(2);
  options.checkpoint = folder / "run.ckpt";
  Trainer(model, options).fit(Dataset::from(line_data(20)));
  Model restored = line_model();
  restored.restore_checkpoint(folder / "run.ckpt");
  CHECK(same_state(model, restored));
}

TEST_CASE("options that folds leave without effect are refused") {
  Model model = line_model();
  const auto said = [&](const auto& change) {
    TrainerOptions options = in_folds(2);
    options.checkpoint = "run.ckpt";
    change(options);
    try {
      Trainer trainer(model, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(said([](TrainerOptions&) {}).empty());
  CHECK_THAT(said([](TrainerOptions& o) { o.folds = 1; }), Contains("at least 2 folds"));
  CHECK_THAT(said([](TrainerOptions& o) { o.validation_split = 0.5; }),
             Contains("a validation split"));
  CHECK_THAT(said([](TrainerOptions& o) { o.max_time = std::chrono::seconds(1); }),
             Contains("a time limit"));
  CHECK_THAT(said([](TrainerOptions& o) { o.resume = true; }), Contains("a resumed run"));
  const Dataset both = Dataset::from(line_data(8), line_data(8));
  CHECK_THROWS_WITH(Trainer(model, in_folds(2)).fit(both), Contains("have a validation part"));
  CHECK_THROWS_WITH(Trainer(model, in_folds(2)).fit(both.train(), both.validation()),
                    Contains("divides the data itself"));
  TrainerOptions plateau = in_folds(2);
  plateau.schedule = PlateauSchedule{};
  CHECK_THROWS_WITH(Trainer(model, plateau).fit(both.train()), Contains("'val_loss'"));
}
