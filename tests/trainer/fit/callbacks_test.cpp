// Several callbacks of a run, and metrics of the caller's own.
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <ondine/build.h>
#include <ondine/data_record.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

using namespace ondine;
using Catch::Contains;

namespace {

// y = x w, w = 1; the loss is the mean of (y - label)^2.
Model line(float rate) {
  ModelBuilder b("line", 17);
  b.input("x", DType::float32, {"N", 1});
  b.initializer("w", Tensor::of<float>({1, 1}, {1}));
  b.node("MatMul", {"x", "w"}, {}, "y");
  b.output("y", DType::float32, {"N", 1});
  return prepare(
      b.bytes(),
      {.loss = Loss::mse, .optimizer = Sgd{.learning_rate = rate}, .init = WeightInit::keep});
}

NamedValues rows(std::vector<float> x, std::vector<float> label) {
  const auto count = static_cast<std::int64_t>(x.size());
  return {{"x", Tensor::of<float>({count, 1}, x)}, {"label", Tensor::of<float>({count, 1}, label)}};
}

// The largest difference, which is no mean over batches.
struct Largest {
  double value = 0;
  std::vector<std::int64_t> sizes;

  OwnMetric metric() {
    OwnMetric result;
    result.name = "largest";
    result.begin = [this] { value = 0; };
    result.add = [this](const Results& outputs, std::span<const NamedValue> batch) {
      const Tensor y = outputs["y"].tensor();
      const Tensor label = Results(NamedValues(batch.begin(), batch.end()))["label"].tensor();
      sizes.push_back(y.size());
      for (std::size_t i = 0; i < static_cast<std::size_t>(y.size()); ++i) {
        const double difference = static_cast<double>(y.item<float>(i) - label.item<float>(i));
        value = std::max(value, std::abs(difference));
      }
    };
    result.value = [this] { return value; };
    return result;
  }
};

}  // namespace

TEST_CASE("all callbacks are called in order, and any of them ends the run") {
  Model model = line(0);
  Trainer trainer(model, {.epochs = 3, .batch_size = 1});
  std::string said;
  trainer.on_step([&](const StepReport& step) {
    said += "a" + std::to_string(step.step);
    return step.epoch < 2;
  });
  trainer.on_step([&](const StepReport&) {
    said += "b";
    return true;
  });
  trainer.on_step({});
  trainer.on_epoch([&](const EpochReport&) { said += "c"; });
  trainer.on_epoch([&](const EpochReport&) { said += "d "; });
  const FitReport report = trainer.fit(Dataset::from(rows({1, 2}, {1, 2})));
  CHECK(report.reason == StopReason::requested);
  CHECK(said == "a1ba2bcd a1b");
}

TEST_CASE("an own metric covers the validation data and evaluate()") {
  Model model = line(0);
  Trainer trainer(model, {.epochs = 2, .batch_size = 1});
  Largest largest;
  trainer.add_metric(largest.metric());
  std::vector<double> seen;
  trainer.on_epoch([&](const EpochReport& one) { seen.push_back(one.validation["largest"]); });
  const NamedValues validation = rows({1, 5, 2}, {1.5F, 1, 2});
  trainer.fit(Dataset::from(rows({1}, {1}), validation));
  CHECK(seen == std::vector<double>{4, 4});
  CHECK(trainer.evaluate(Dataset::from(validation)).metrics["largest"] == 4);
  CHECK(trainer.evaluate(Dataset::from(validation)).metrics["loss"] == Approx((0.25 + 16) / 3));
}

TEST_CASE("early stopping watches an own metric") {
  Model model = line(0.1F);
  Trainer trainer(model, {.epochs = 20,
                          .batch_size = 1,
                          .early_stopping = EarlyStopping{.metric = "val_largest", .patience = 1}});
  Largest largest;
  trainer.add_metric(largest.metric());
  // Training makes w larger, which validation does not want.
  const FitReport report = trainer.fit(Dataset::from(rows({1}, {2}), rows({3}, {3})));
  CHECK(report.reason == StopReason::early_stopping);
  CHECK(report.best_epoch == 1);
}

TEST_CASE("metrics need a name of their own and three functions") {
  Model model = line(0);
  Trainer trainer(model, {});
  Largest largest;
  OwnMetric metric = largest.metric();
  metric.name = "mse";
  CHECK_THROWS_WITH(trainer.add_metric(metric), "there is a metric 'mse' already");
  metric.name = "loss";
  CHECK_THROWS_WITH(trainer.add_metric(metric), "there is a metric 'loss' already");
  trainer.add_metric(largest.metric());
  CHECK_THROWS_WITH(trainer.add_metric(largest.metric()), "there is a metric 'largest' already");
  metric.name = "other";
  metric.value = {};
  CHECK_THROWS_WITH(trainer.add_metric(metric), Contains("needs a name and its three functions"));
}

TEST_CASE("an output that the model does not have is refused before any step") {
  Model model = line(0);
  Trainer trainer(model, {});
  Largest largest;
  OwnMetric metric = largest.metric();
  metric.outputs = {"z"};
  trainer.add_metric(metric);
  CHECK_THROWS_WITH(trainer.fit(Dataset::from(rows({1}, {1}), rows({1}, {1}))),
                    Contains("there is no output 'z'"));
  CHECK(model.steps() == 0);
}

TEST_CASE("other threads read a model's record while runs write it") {
  Model model = line(0);
  const Dataset data = Dataset::from(rows({1, 2}, {1, 2}));
  std::atomic<bool> ends = false;
  std::thread reader([&] {
    while (!ends) {
      CHECK_FALSE(model.metadata().empty());
      CHECK(data_record(model).prediction.loss == "mse");
      CHECK(model.learning_rate() == 0);
    }
  });
  for (int run = 0; run < 50; ++run) Trainer(model, {}).fit(data);
  ends = true;
  reader.join();
  CHECK(data_record(model).data.rows == 2);
}
