// Which metrics there are, what is refused and when, and metrics of a training run.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/random_tensor.h"
#include "tests/trainer/fit/small_task.h"
#include "tests/trainer/metrics/scored_model.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

TEST_CASE("an unknown metric is refused with the nearest name and a list of all") {
  const Model model = passing_model(3, Loss::softmax_cross_entropy);
  // There is no data to evaluate on.
  const Dataset nothing;
  CHECK_THROWS_WITH(evaluate(model, nothing, {.metrics = {"accuracy", "recal"}}),
                    Contains("'recal'") && Contains("did you mean 'recall'") &&
                        Contains("roc_auc") && Contains("confusion_matrix") && Contains("topK"));
  CHECK_THROWS_WITH(evaluate(model, nothing, {.metrics = {"zzzzzz"}}),
                    Contains("zzzzzz") && Contains("rmse") && !Contains("did you mean"));
  for (const std::string name : {"topK", "top0", "top", "top3x", "top-3", ""}) {
    CHECK_THROWS_WITH(evaluate(model, nothing, {.metrics = {name}}), Contains("no metric"));
  }
}

TEST_CASE("a metric that the loss does not have is refused before any work, with those it has") {
  Model model = passing_model(3, Loss::softmax_cross_entropy);
  CHECK_THROWS_WITH(Trainer(model, {.metrics = {"r2"}}), Contains("'r2'") &&
                                                             Contains("softmax-cross-entropy") &&
                                                             Contains("f1") && !Contains("rmse,"));
  const Model numbers = passing_model(3, Loss::huber);
  CHECK_THROWS_WITH(evaluate(numbers, Dataset(), {.metrics = {"f1_macro"}}),
                    Contains("f1_macro") && Contains("huber") && Contains("rmse"));
  const Model binary = passing_model(3, Loss::bce_with_logits);
  CHECK_THROWS_WITH(evaluate(binary, Dataset(), {.metrics = {"top5"}}), Contains("top5"));
}

TEST_CASE("the listed metrics are all known to some loss") {
  const std::vector<std::string> names = evaluation_metrics();
  CHECK(names.size() == 34);
  for (std::string name : names) {
    if (name == "topK") name = "top2";
    if (name == "cer" || name == "wer") continue;  // of sequences, see sequences_test.cpp
    int losses = 0;
    for (const Loss loss : {Loss::softmax_cross_entropy, Loss::bce_with_logits, Loss::mse}) {
      Model model = passing_model(3, loss);
      try {
        Trainer(model, {.metrics = {name}});
        ++losses;
      } catch (const Error&) {
      }
    }
    INFO(name);
    CHECK(losses >= 1);
  }
}

TEST_CASE("a run validates by the metrics asked for, over all rows and not by batch") {
  const Dataset validation = Dataset::from(classes_data(300));
  Model model = classifier_model();
  TrainerOptions options{.epochs = 2, .batch_size = 4};
  options.metrics = {"f1", "confusion_matrix", "top2", "accuracy"};
  options.early_stopping = EarlyStopping{.metric = "val_f1"};
  std::vector<EpochReport> epochs;
  Trainer trainer(model, options);
  trainer.on_epoch([&](const EpochReport& report) { epochs.push_back(report); });
  const FitReport report = trainer.fit(Dataset::from(classes_data(20)), validation);
  REQUIRE(epochs.size() == 2);
  // Larger is better for F1.
  const double best = std::max(epochs[0].validation["f1"], epochs[1].validation["f1"]);
  CHECK(*report.best_value == best);
  const Evaluation whole = evaluate(
      model, validation, {.batch_size = 300, .metrics = {"f1", "top2", "confusion_matrix"}});
  CHECK(best == Approx(whole.metrics["f1"]));
  const EpochReport& chosen = epochs[report.best_epoch - 1];
  CHECK(chosen.validation["top2"] == Approx(whole.metrics["top2"]));
  REQUIRE(chosen.confusion);
  CHECK(chosen.confusion->counts == whole.confusion->counts);
  std::uint64_t rows = 0;
  for (const std::uint64_t count : chosen.confusion->counts) rows += count;
  CHECK(rows == 300);
}
