#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// One epoch by hand: the loss of each step, by the rows that `order` gives.
std::vector<double> losses_by_hand(Model& model, const NamedValues& data,
                                   const std::vector<std::uint64_t>& order, std::size_t batch) {
  Feeder feeder(model.algorithm(0).inputs, data);
  std::vector<double> losses;
  for (std::size_t first = 0; first < order.size(); first += batch) {
    const auto rows = std::span(order).subspan(first, std::min(batch, order.size() - first));
    const auto results = model.train_step(feeder.take(rows), 0, std::vector<std::string>{"loss"});
    losses.push_back(static_cast<double>(results[0].second.tensor().item<float>()));
  }
  return losses;
}

TrainerOptions short_run() { return {.epochs = 2, .batch_size = 4, .seed = 3}; }

}  // namespace

TEST_CASE("an epoch steps over shuffled rows and weighs the last short batch by its rows") {
  const NamedValues data = line_data(10);
  Model model = line_model();
  Trainer trainer(model, short_run());
  std::vector<EpochReport> epochs;
  std::vector<double> last;
  std::vector<std::uint64_t> rows;
  trainer.on_epoch([&](const EpochReport& epoch) { epochs.push_back(epoch); });
  trainer.on_step([&](const StepReport& step) {
    last.push_back(step.last["loss"]);
    rows.push_back(step.rows);
    return true;
  });
  const FitReport report = trainer.fit(Dataset::from(data));
  CHECK(report.reason == StopReason::completed);
  CHECK_FALSE(report.already_finished);
  REQUIRE(epochs.size() == 2);
  REQUIRE(last.size() == 6);
  CHECK(rows == std::vector<std::uint64_t>{4, 8, 10, 4, 8, 10});

  Model other = line_model();
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    const auto order = shuffled(10, 3, epoch);
    const auto losses = losses_by_hand(other, data, order, 4);
    CHECK(std::equal(losses.begin(), losses.end(), last.begin() + static_cast<int>(3 * epoch)));
    const double mean = (4 * losses[0] + 4 * losses[1] + 2 * losses[2]) / 10;
    CHECK(epochs[epoch].training["loss"] == Approx(mean).epsilon(1e-12));
    CHECK(epochs[epoch].epoch == epoch + 1);
    CHECK(epochs[epoch].rows == 10);
  }
  CHECK(same_state(model, other));
  CHECK(shuffled(10, 3, 0) != shuffled(10, 3, 1));
  CHECK(model.steps() == 6);
}

TEST_CASE("a run that is stopped after any step and resumed ends with the same bits") {
  const TemporaryFolder folder;
  const Dataset data = Dataset::from(classes_data(22));
  Model whole = classifier_model();
  EpochReport expected;
  Trainer uninterrupted(whole, short_run());
  uninterrupted.on_epoch([&](const EpochReport& epoch) { expected = epoch; });
  uninterrupted.fit(data);
  for (int stop = 1; stop <= 11; ++stop) {
    const auto file = folder / ("stop" + std::to_string(stop) + ".ckpt");
    TrainerOptions options = short_run();
    options.checkpoint = file;
    Model first = classifier_model();
    Trainer stopped(first, options);
    int steps = 0;
    stopped.on_step([&](const StepReport&) { return ++steps < stop; });
    const FitReport half = stopped.fit(data);
    CHECK(half.reason == StopReason::requested);
    CHECK(steps == stop);
    options.resume = true;
    options.seed = 0;  // the checkpoint's counts
    Model second = classifier_model();
    Trainer resumed(second, options);
    EpochReport last;
    resumed.on_epoch([&](const EpochReport& epoch) { last = epoch; });
    CHECK(resumed.fit(data).reason == StopReason::completed);
    CHECK(same_state(whole, second));
    CHECK(last.training["loss"] == expected.training["loss"]);
    CHECK(last.rows == 22);
  }
}

TEST_CASE("resuming a finished run reports that and does nothing") {
  const TemporaryFolder folder;
  TrainerOptions options = short_run();
  options.checkpoint = folder / "run.ckpt";
  const Dataset data = Dataset::from(line_data(10));
  Model model = line_model();
  Trainer(model, options).fit(data);
  options.resume = true;
  Model again = line_model();
  const FitReport report = Trainer(again, options).fit(data);
  CHECK(report.already_finished);
  CHECK(report.epochs == 2);
  CHECK(same_state(model, again));
  std::ostringstream text;
  text << report;
  CHECK(text.str() == "completed after 2 epochs, before this run");
}

TEST_CASE("a checkpoint is written after every N steps of an epoch") {
  const TemporaryFolder folder;
  TrainerOptions options = short_run();
  options.checkpoint = folder / "run.ckpt";
  options.checkpoint_every = 2;
  Model model = line_model();
  Trainer trainer(model, options);
  std::vector<std::uint64_t> positions;
  // Positions in the file, each read when the next step has been made; 0 if there is no file.
  trainer.on_step([&](const StepReport&) {
    Model reader = line_model();
    std::error_code error;
    positions.push_back(std::filesystem::exists(options.checkpoint, error)
                            ? reader.restore_checkpoint(options.checkpoint).cursor.position
                            : 0);
    return true;
  });
  trainer.fit(Dataset::from(line_data(20)));  // 5 steps an epoch
  CHECK(positions == std::vector<std::uint64_t>{0, 0, 8, 8, 16, 0, 0, 8, 8, 16});
}

TEST_CASE("resuming refuses other options than the checkpoint was written with") {
  const TemporaryFolder folder;
  TrainerOptions options = short_run();
  options.checkpoint = folder / "run.ckpt";
  Model model = line_model();
  {
    Trainer trainer(model, options);
    trainer.on_step([](const StepReport& step) { return step.step < 3; });
    trainer.fit(Dataset::from(line_data(20)));
  }
  options.resume = true;
  const auto resume = [&](std::int64_t rows) {
    Model other = line_model();
    Trainer(other, options).fit(Dataset::from(line_data(rows)));
  };
  CHECK_THROWS_WITH(resume(8), Contains("row 12") && Contains("has 8"));
  options.batch_size = 5;
  CHECK_THROWS_WITH(resume(20), Contains("--batch-size 4"));
  options.batch_size = 4;
  options.validation_split = 0.25;
  CHECK_THROWS_WITH(resume(20), Contains("--validation-split 0"));
  options.validation_split = 0;
  CHECK_THROWS_WITH(resume(12), Contains("12 training rows") && Contains("row 12 of an epoch"));
  options.seed = 99;
  CHECK_THROWS_WITH(resume(20), Contains("the seed 3, now it is 99"));
  options.seed = 3;
  CHECK_NOTHROW(resume(20));
}

TEST_CASE("an existing checkpoint is replaced only when asked") {
  const TemporaryFolder folder;
  TrainerOptions options = short_run();
  options.checkpoint = folder / "run.ckpt";
  const Dataset data = Dataset::from(line_data(10));
  Model model = line_model();
  Trainer(model, options).fit(data);
  CHECK_THROWS_WITH(Trainer(model, options).fit(data),
                    Contains("run.ckpt") && Contains("--overwrite"));
  options.overwrite = true;
  CHECK_NOTHROW(Trainer(model, options).fit(data));
  options.checkpoint = folder / "none/run.ckpt";
  const std::uint64_t steps = model.steps();
  CHECK_THROWS_WITH(Trainer(model, options).fit(data), Contains("none/run.ckpt"));
  CHECK(model.steps() == steps);
}

TEST_CASE("a step that fails saves the last good state, one that diverges does not") {
  const TemporaryFolder folder;
  TrainerOptions options = short_run();
  options.checkpoint = folder / "run.ckpt";
  NamedValues bad = classes_data(20);
  bad[1].second.tensor().mutable_values<std::int64_t>()[shuffled(20, 3, 0)[9]] = 7;
  Model model = classifier_model();
  CHECK_THROWS_AS(Trainer(model, options).fit(Dataset::from(bad)), Error);
  Model saved = classifier_model();
  CHECK(saved.restore_checkpoint(options.checkpoint).cursor.position == 8);
  CHECK(same_state(model, saved));

  options.checkpoint = folder / "nan.ckpt";
  options.stop_on_nan = true;
  NamedValues huge = line_data(20);
  huge[0].second.tensor().mutable_values<float>()[2 * shuffled(20, 3, 0)[9]] = INFINITY;
  Model line = line_model();
  CHECK_THROWS_WITH(Trainer(line, options).fit(Dataset::from(huge)),
                    Contains("epoch 1, step 3") && Contains("loss is"));
  CHECK_FALSE(std::filesystem::exists(options.checkpoint));
}

TEST_CASE("a request to stop and a time limit end the run before the next step") {
  Model model = line_model();
  Trainer trainer(model, short_run());
  trainer.request_stop();
  CHECK(trainer.fit(Dataset::from(line_data(10))).reason == StopReason::requested);
  CHECK(model.steps() == 0);
  CHECK(trainer.fit(Dataset::from(line_data(10))).reason == StopReason::completed);
  CHECK(model.steps() == 6);

  TrainerOptions options = short_run();
  options.max_time = std::chrono::milliseconds(0);
  CHECK(Trainer(model, options).fit(Dataset::from(line_data(10))).reason == StopReason::time_limit);
  CHECK(model.steps() == 6);
}

TEST_CASE("a run ends after its number of steps, and a larger number goes on to the same bits") {
  const TemporaryFolder folder;
  const Dataset data = Dataset::from(line_data(20));
  TrainerOptions options = short_run();
  Model whole = line_model();
  Trainer(whole, options).fit(data);
  const std::uint64_t all = whole.steps();
  REQUIRE(all > 4);

  options.checkpoint = folder / "run.ckpt";
  for (const std::uint64_t most : {std::uint64_t{3}, all - 1, all}) {
    CAPTURE(most);
    options.max_steps = most;
    options.resume = most != 3;
    Model model = line_model();
    const FitReport report = Trainer(model, options).fit(data);
    CHECK(model.steps() == most);
    CHECK((report.reason == StopReason::step_limit) == (most != all));
    if (most == all) CHECK(same_state(model, whole));
  }
  options.max_steps = 0;
  Model model = line_model();
  CHECK_THROWS_WITH(Trainer(model, options), Contains("at least one step"));
}

TEST_CASE("the checkpoints of the last epochs are kept beside the newest") {
  const TemporaryFolder folder;
  const Dataset data = Dataset::from(line_data(20));
  TrainerOptions options = short_run();
  options.epochs = 4;
  options.keep_last = 2;
  Model model = line_model();
  CHECK_THROWS_WITH(Trainer(model, options), Contains("no checkpoint to write"));
  options.checkpoint = folder / "run.ckpt";
  Trainer(model, options).fit(data);
  for (const int epoch : {1, 2, 3, 4}) {
    CAPTURE(epoch);
    const auto file = folder / ("run.ckpt.epoch" + std::to_string(epoch));
    CHECK(std::filesystem::exists(file) == (epoch > 2));
  }
  // Each is what a shorter run ends with.
  options = short_run();
  options.epochs = 3;
  Model shorter = line_model();
  Trainer(shorter, options).fit(data);
  Model kept = line_model();
  kept.restore_checkpoint(folder / "run.ckpt.epoch3");
  CHECK(same_state(kept, shorter));
}

TEST_CASE("options that make no sense are refused") {
  Model model = line_model();
  const auto make = [&](TrainerOptions options) { Trainer(model, std::move(options)); };
  CHECK_THROWS_WITH(make({.algorithm = 1}), Contains("1 training algorithm"));
  CHECK_THROWS_WITH(make({.epochs = 0}), Contains("epoch"));
  CHECK_THROWS_WITH(make({.batch_size = 0}), Contains("row"));
  CHECK_THROWS_WITH(make({.validation_split = 1.0}), Contains("split"));
  CHECK_THROWS_WITH(make({.validation_split = NAN}), Contains("split"));
  CHECK_THROWS_WITH(make({.resume = true}), Contains("checkpoint"));
  CHECK_THROWS_WITH(make({.early_stopping = EarlyStopping{.patience = 0}}), Contains("patience"));
  const Dataset data = Dataset::from(line_data(10));
  CHECK_THROWS_WITH(Trainer(model, {.constants = {{"none", 1.0}}}).fit(data), Contains("'none'"));
  CHECK_THROWS_WITH(Trainer(model, {.early_stopping = EarlyStopping{}}).fit(data),
                    Contains("'val_loss'") && Contains("'loss'"));
  CHECK_THROWS_WITH(Trainer(model, {}).fit(Dataset()), Contains("'x'"));
}
