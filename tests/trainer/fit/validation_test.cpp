// Validation after an epoch, early stopping, and metrics of evaluate(), against values by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// out = x, or its sigmoid; x has two scores a row. `w` makes it trainable.
Model identity_model(Loss loss, bool sigmoid, bool batches_of_two = false) {
  ModelBuilder b("identity", 17);
  using Dim = ModelBuilder::Dim;
  const Dim rows = batches_of_two ? Dim(2) : Dim("N");
  std::string x = b.input("x", DType::float32, {rows, 2});
  x = b.node("MatMul", {x, b.initializer("w", Tensor::of<float>({2, 2}, {1, 0, 0, 1}))}, {},
             sigmoid ? "" : "out");
  if (sigmoid) b.node("Sigmoid", {x}, {}, "out");
  b.output("out", DType::float32, {rows, 2});
  return prepare(b.bytes(), {.loss = loss, .init = WeightInit::keep});
}

const NamedValues scores{{"x", Tensor::of<float>({3, 2}, {-1, 0.25F, 2, -0.5F, 0.75F, 3})}};

Metrics evaluated(const Model& model, const Tensor& labels) {
  NamedValues data = scores;
  data.emplace_back("label", labels);
  const Evaluation result = evaluate(model, Dataset::from(data), {.batch_size = 2});
  CHECK(result.rows == 3);
  CHECK(result.note.empty());
  return result.metrics;
}

}  // namespace

TEST_CASE("binary accuracy counts every label at 0.5 of the sigmoid, of logits and probabilities") {
  const Tensor labels = Tensor::of<float>({3, 2}, {0, 1, 1, 1, 0, 1});
  for (const bool sigmoid : {false, true}) {
    const Model model = identity_model(Loss::bce_with_logits, sigmoid);
    // Logits above 0: 0 1 / 1 0 / 1 1, four of six as labelled.
    CHECK(evaluated(model, labels)["accuracy"] == Approx(4.0 / 6));
    const Model exported = Model::load(model.export_inference());
    CHECK(evaluated(exported, labels)["accuracy"] == Approx(4.0 / 6));
  }
}

TEST_CASE("losses of regression are evaluated by squared and absolute differences") {
  const Tensor labels = Tensor::of<float>({3, 2}, {0, 0, 1, 0.5F, 0.75F, 1});
  const double mse = (1 + 0.0625 + 1 + 1 + 0 + 4) / 6;
  const double mae = (1 + 0.25 + 1 + 1 + 0 + 2) / 6;
  for (const Loss loss : {Loss::mse, Loss::mae, Loss::huber}) {
    const Metrics metrics = evaluated(identity_model(loss, false), labels);
    CHECK(metrics["mse"] == Approx(mse));
    CHECK(metrics["mae"] == Approx(mae));
  }
}

TEST_CASE(
    "a model that does not say its loss is evaluated by what labels are, and a note says so") {
  NamedValues data = scores;
  data.emplace_back("label", Tensor::of<std::int64_t>({3}, {1, 1, 1}));
  ModelBuilder b("plain", 17);
  b.node("Identity", {b.input("x", DType::float32, {"N", 2})}, {}, "out");
  b.output("out", DType::float32, {"N", 2});
  const Model model = Model::load(b.bytes());
  const Evaluation classes = evaluate(model, Dataset::from(data));
  CHECK(classes.metrics["accuracy"] == Approx(2.0 / 3));
  CHECK_THAT(classes.note, Contains("does not say") && Contains("classes"));
  data[1].second = Tensor::of<float>({3, 2}, {0, 0, 0, 0, 0, 0});
  const Evaluation numbers = evaluate(model, Dataset::from(data));
  CHECK(numbers.metrics.contains("mse"));
  CHECK_THAT(numbers.note, Contains("numbers"));
}

TEST_CASE("of several largest scores the first is the class, for each pixel of an image") {
  ModelBuilder b("pixels", 17);
  b.node("Identity", {b.input("x", DType::float32, {"N", 2, 1, 3})}, {}, "out");
  b.output("out", DType::float32, {"N", 2, 1, 3});
  const Model model = Model::load(b.bytes());
  // Pixel 0 of image 0 is a tie.
  const Tensor x = Tensor::of<float>({2, 2, 1, 3}, {1, 0, 5, 1, 2, 4, 0, 0, 0, 3, 3, -3});
  const auto accuracy = [&](const Tensor& labels) {
    return evaluate(model, Dataset::from({{"x", x}, {"label", labels}})).metrics["accuracy"];
  };
  CHECK(accuracy(Tensor::of<std::int64_t>({2, 1, 3}, {0, 1, 0, 1, 1, 0})) == 1);
  CHECK(accuracy(Tensor::of<std::int64_t>({2, 1, 3}, {1, 1, 0, 1, 1, 0})) == Approx(5.0 / 6));
}

TEST_CASE("validation has the loss of eval_step over all rows, weighed by the rows of a batch") {
  // More rows than one batch of an evaluation.
  const NamedValues other = classes_data(300);
  Model model = classifier_model();
  Trainer trainer(model, {.batch_size = 4});
  EpochReport epoch;
  trainer.on_epoch([&](const EpochReport& report) { epoch = report; });
  trainer.fit(Dataset::from(classes_data(20)), Dataset::from(other));
  // No Dropout in evaluation, so all rows at once have the mean loss.
  CHECK(epoch.validation["loss"] == Approx(model.eval_step(other).scalar("loss")).epsilon(1e-6));
  const Evaluation whole = evaluate(model, Dataset::from(other));
  CHECK(epoch.validation["accuracy"] == Approx(whole.metrics["accuracy"]));
  const Evaluation again = trainer.evaluate(Dataset::from(other));
  CHECK(again.rows == 300);
  CHECK(again.metrics["loss"] == epoch.validation["loss"]);
}

TEST_CASE("validation data that does not fit is found before any step") {
  Model model = line_model();
  NamedValues bad = line_data(4);
  bad[0].second = Tensor(DType::float32, {4, 3});
  Trainer trainer(model, {.batch_size = 4});
  CHECK_THROWS_AS(trainer.fit(Dataset::from(line_data(8)), Dataset::from(bad)), Error);
  CHECK(model.steps() == 0);
}

TEST_CASE("early stopping ends after epochs without improvement and restores the best state") {
  const TemporaryFolder folder;
  const Dataset training = Dataset::from(line_data(40));
  // Labels that training moves away from after a while: a line between start and goal.
  NamedValues far = line_data(16);
  for (float& t : far[1].second.tensor().mutable_values<float>()) t *= 0.5F;
  const Dataset validation = Dataset::from(far);
  TrainerOptions options{.epochs = 100, .batch_size = 4, .seed = 1};
  options.early_stopping = EarlyStopping{.patience = 3};
  options.checkpoint = folder / "run.ckpt";
  Model model = line_model();
  std::vector<double> losses;
  std::vector<bool> best;
  Trainer trainer(model, options);
  trainer.on_epoch([&](const EpochReport& epoch) {
    losses.push_back(epoch.validation["loss"]);
    best.push_back(epoch.best);
  });
  const FitReport report = trainer.fit(training, validation);
  REQUIRE(report.reason == StopReason::early_stopping);
  CHECK(report.restored_best);
  const auto least = std::min_element(losses.begin(), losses.end());
  const auto best_epoch = static_cast<std::uint64_t>(least - losses.begin()) + 1;
  CHECK(report.best_epoch == best_epoch);
  CHECK(*report.best_value == *least);
  CHECK(losses.size() == best_epoch + 3);
  CHECK(best[best_epoch - 1]);
  CHECK(std::none_of(best.begin() + static_cast<std::ptrdiff_t>(best_epoch), best.end(),
                     [](bool one) { return one; }));
  CHECK(trainer.evaluate(validation).metrics["loss"] == *least);
  Model kept = line_model();
  kept.restore_checkpoint(folder / "run.ckpt.best");
  CHECK(same_state(model, kept));

  // A run of exactly the best epochs ends with the same bits.
  Model shorter = line_model();
  Trainer(shorter, {.epochs = best_epoch, .batch_size = 4, .seed = 1}).fit(training, validation);
  CHECK(same_state(model, shorter));

  // Resumed after each epoch it stops at the same one, without a checkpoint it restores the same.
  for (std::uint64_t stop = 1; stop < losses.size(); ++stop) {
    TrainerOptions part = options;
    part.checkpoint = folder / ("part" + std::to_string(stop));
    part.epochs = stop;
    Model first = line_model();
    Trainer(first, part).fit(training, validation);
    part.epochs = 100;
    part.resume = true;
    Model second = line_model();
    const FitReport resumed = Trainer(second, part).fit(training, validation);
    CHECK(resumed.best_epoch == best_epoch);
    CHECK(resumed.epochs == losses.size());
    CHECK(same_state(model, second));
  }
  options.checkpoint.clear();
  Model memory = line_model();
  Trainer(memory, options).fit(training, validation);
  CHECK(same_state(model, memory));
}

TEST_CASE("where the model has a fixed batch size, rows of a short last batch are left out") {
  NamedValues data = scores;
  data.emplace_back("label", Tensor::of<float>({3, 2}, {0, 0, 1, 0.5F, 100, 100}));
  const Dataset three = Dataset::from(data);
  Model model = identity_model(Loss::mse, false, true);
  const Evaluation first_two = evaluate(model, three);
  CHECK(first_two.rows == 2);
  CHECK(first_two.metrics["mse"] == Approx((1 + 0.0625 + 1 + 1) / 4));

  Trainer trainer(model, {.batch_size = 2, .seed = 4});
  CHECK(trainer.evaluate(three).rows == 2);
  CHECK(trainer.evaluate(three).metrics["loss"] == Approx(first_two.metrics["mse"]));
  EpochReport epoch;
  trainer.on_epoch([&](const EpochReport& report) { epoch = report; });
  trainer.fit(three.train());
  CHECK(epoch.rows == 2);
  CHECK(model.steps() == 1);
  CHECK_THROWS_WITH(Trainer(model, {.batch_size = 3}).fit(three), Contains("batches of 2"));
}

TEST_CASE("labels are the column that the model was prepared with, else the smallest one left") {
  const Model exported =
      Model::load(identity_model(Loss::bce_with_logits, false).export_inference());
  NamedValues data = scores;
  data.emplace_back("label", Tensor::of<float>({3, 2}, {0, 1, 1, 1, 0, 1}));
  data.emplace_back("id", Tensor::of<std::int64_t>({3}, {7, 8, 9}));
  CHECK(evaluate(exported, Dataset::from(data)).metrics["accuracy"] == Approx(4.0 / 6));

  ModelBuilder b("plain", 17);
  b.node("Identity", {b.input("x", DType::float32, {"N", 2})}, {}, "out");
  b.output("out", DType::float32, {"N", 2});
  const Model plain = Model::load(b.bytes());
  data = scores;
  data.emplace_back("wide", Tensor::of<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  data.emplace_back("class", Tensor::of<std::int64_t>({3}, {1, 0, 1}));
  CHECK(evaluate(plain, Dataset::from(data)).metrics["accuracy"] == 1);
  CHECK_THROWS_WITH(evaluate(plain, Dataset::from(data), {.label = "none"}), Contains("labels"));
}
