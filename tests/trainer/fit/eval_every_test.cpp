// Evaluations between steps.
#include <catch2/catch.hpp>

#include <ondine/trainer.h>

#include "tests/support/file_content.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// 5 steps an epoch.
TrainerOptions every(std::uint64_t steps) {
  TrainerOptions options{.epochs = 2, .batch_size = 4};
  options.eval_every = steps;
  return options;
}

struct Told {
  std::uint64_t epoch;
  std::uint64_t step;
  double loss;
};

std::vector<Told> run(Model& model, const TrainerOptions& options) {
  std::vector<Told> told;
  Trainer trainer(model, options);
  trainer.on_epoch([&](const EpochReport& epoch) {
    told.push_back({epoch.epoch, epoch.step, epoch.validation["loss"]});
  });
  trainer.fit(Dataset::from(line_data(20)), Dataset::from(line_data(8)));
  return told;
}

}  // namespace

TEST_CASE("the validation data are evaluated after every N steps of the run and after epochs") {
  Model model = line_model();
  const std::vector<Told> told = run(model, every(2));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (const Told& one : told) places.emplace_back(one.epoch, one.step);
  // Steps 2, 4, 5 (the end), 6, 8 and 10, the end of the second epoch.
  CHECK(places == std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                      {1, 2}, {1, 4}, {1, 0}, {2, 1}, {2, 3}, {2, 0}});
  Model other = line_model();
  TrainerOptions two_steps{.epochs = 2, .batch_size = 4};
  two_steps.max_steps = 2;
  Trainer trainer(other, two_steps);
  trainer.fit(Dataset::from(line_data(20)), Dataset());
  CHECK(trainer.evaluate(Dataset::from(line_data(8))).metrics["loss"] == told[0].loss);
}

TEST_CASE("evaluations between steps do not change what is trained") {
  Model evaluated = line_model();
  Model plain = line_model();
  run(evaluated, every(1));
  run(plain, every(0));
  CHECK(same_state(evaluated, plain));
}

TEST_CASE("early stopping counts evaluations and restores the best state between steps") {
  Model model = line_model();
  TrainerOptions options = every(2);
  options.early_stopping = EarlyStopping{.patience = 2, .min_delta = 1000};
  Trainer trainer(model, options);
  const FitReport report = trainer.fit(Dataset::from(line_data(20)), Dataset::from(line_data(8)));
  CHECK(report.reason == StopReason::early_stopping);
  CHECK(report.best_epoch == 1);
  CHECK(report.best_step == 2);
  CHECK(report.restored_best);
  Model other = line_model();
  TrainerOptions two_steps{.epochs = 2, .batch_size = 4};
  two_steps.max_steps = 2;
  Trainer(other, two_steps).fit(Dataset::from(line_data(20)), Dataset());
  CHECK(same_state(model, other));
}

TEST_CASE("a run that stops early in the midst of an epoch is finished when it is resumed") {
  const TemporaryFolder folder;
  TrainerOptions options = every(1);
  options.early_stopping = EarlyStopping{.patience = 2, .min_delta = 1000};
  options.checkpoint = folder / "run.ckpt";
  Model model = line_model();
  const Dataset data = Dataset::from(line_data(20));
  CHECK(Trainer(model, options).fit(data, data).reason == StopReason::early_stopping);
  options.resume = true;
  Model again = line_model();
  const FitReport report = Trainer(again, options).fit(data, data);
  CHECK(report.already_finished);
  CHECK(report.reason == StopReason::early_stopping);
  CHECK(report.best_step == 1);
  CHECK(same_state(again, model));
  options.eval_every = 3;
  CHECK_THROWS_WITH(Trainer(again, options).fit(data, data),
                    Contains("--eval-every 1, now it is 3"));
}

TEST_CASE("a run that is stopped and resumed is evaluated at the same steps with the same bits") {
  const TemporaryFolder folder;
  const Dataset data = Dataset::from(line_data(20));
  Model whole = line_model();
  Trainer(whole, every(2)).fit(data, data);
  TrainerOptions options = every(2);
  options.checkpoint = folder / "run.ckpt";
  options.max_steps = 3;
  Model parts = line_model();
  Trainer(parts, options).fit(data, data);
  options.max_steps.reset();
  options.resume = true;
  std::vector<std::uint64_t> steps;
  Trainer trainer(parts, options);
  trainer.on_epoch([&](const EpochReport& epoch) { steps.push_back(epoch.step); });
  trainer.fit(data, data);
  CHECK(steps == std::vector<std::uint64_t>{4, 0, 1, 3, 0});
  CHECK(same_state(whole, parts));
}

TEST_CASE("records have a line for each evaluation between steps") {
  const TemporaryFolder folder;
  TrainerOptions options = every(2);
  options.log_dir = folder / "log";
  Model model = line_model();
  run(model, options);
  const std::string lines = content(folder / "log" / "log.jsonl");
  std::size_t evaluations = 0;
  for (std::size_t at = 0; (at = lines.find("\"type\":\"evaluation\"", at)) != std::string::npos;
       ++at) {
    ++evaluations;
  }
  CHECK(evaluations == 4);
}

TEST_CASE("evaluation after steps needs validation data") {
  Model model = line_model();
  CHECK_THROWS_WITH(Trainer(model, every(2)).fit(Dataset::from(line_data(20))),
                    Contains("--eval-every") && Contains("needs validation data"));
}
