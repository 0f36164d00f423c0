// How reports and metrics read, and which epoch is best.
#include <cmath>
#include <limits>
#include <sstream>

#include <catch2/catch.hpp>

#include <ondine/best_paths.h>
#include <ondine/error.h>

#include "trainer/fit/early_stopping.h"
#include "trainer/fit/score/decode_sequences.h"

using namespace ondine;
using Catch::Contains;

namespace {

template <class Report>
std::string text_of(const Report& report) {
  std::ostringstream text;
  text << report;
  return text.str();
}

Metrics metrics_of(const std::vector<std::pair<std::string, double>>& values) {
  Metrics metrics;
  for (const auto& [name, value] : values) metrics.set(name, value);
  return metrics;
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Whether the validation metric is the best epoch's, one after the other.
std::vector<bool> judged(const EarlyStopping& options, const std::vector<double>& values) {
  std::string name = options.metric;
  const bool of_validation = name.starts_with("val_");
  if (of_validation) name.erase(0, 4);
  const std::vector<std::string> names{name};
  const fit::BestEpoch best_epoch(options, {}, of_validation ? std::vector<std::string>() : names,
                                  of_validation ? names : std::vector<std::string>());
  fit::Best best;
  std::vector<bool> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    EpochReport report;
    report.epoch = i + 1;
    (of_validation ? report.validation : report.training) = metrics_of({{name, values[i]}});
    // The other part has a metric of this name too.
    (of_validation ? report.training : report.validation) =
        metrics_of({{name, 1e9 * static_cast<double>(i)}});
    const std::uint64_t stale = best.stale;
    result.push_back(best_epoch.judge(report, best));
    CHECK(best.stale == (result.back() ? 0 : stale + 1));
    if (result.back()) {
      CHECK(best.epoch == i + 1);
      CHECK(best.value == values[i]);
    }
    CHECK(best_epoch.exhausted(best) == (best.stale >= options.patience));
  }
  return result;
}

using Flags = std::vector<bool>;
using fit::Labels;

Tensor counts(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

// With the steps as a batch has them.
std::vector<Labels> paths(const Tensor& scores, const std::vector<std::int64_t>& steps,
                          std::int64_t blank) {
  return best_paths(scores, blank,
                    fit::lengths_of(counts(steps), scores.shape()[0], scores.shape()[1]));
}

}  // namespace

TEST_CASE("an epoch reads as its metrics, with what is known of rate, time and waiting") {
  EpochReport report;
  report.epoch = 2;
  report.epochs = 3;
  report.training = metrics_of({{"loss", 0.25}, {"l2", 1.0 / 3}});
  report.seconds = 1.4961;
  CHECK(text_of(report) == "epoch 2/3: loss 0.25, l2 0.333333, 1.5 s");
  report.validation = metrics_of({{"loss", 0.3}, {"accuracy", 0.875}});
  report.learning_rate = 0.01;
  report.data_wait = 0.03;
  CHECK(text_of(report) ==
        "epoch 2/3: loss 0.25, l2 0.333333, validation loss 0.3, validation accuracy 0.875, "
        "learning rate 0.01, 1.5 s, data wait 2 %");
  report = {};
  report.data_wait = 0;
  CHECK(text_of(report) == "epoch 0/0: , 0 s");
}

TEST_CASE("a run reads as why it ended, after how many epochs and which was best") {
  FitReport report;
  report.epochs = 1;
  CHECK(text_of(report) == "completed after 1 epoch");
  report.epochs = 7;
  report.reason = StopReason::early_stopping;
  report.best_epoch = 4;
  report.best_value = 0.5;
  CHECK(text_of(report) == "stopped early after 7 epochs; best epoch 4: 0.5");
  report.restored_best = true;
  report.already_finished = true;
  CHECK(text_of(report) ==
        "stopped early after 7 epochs, before this run; best epoch 4: 0.5, restored");
  CHECK(to_string(StopReason::time_limit) == std::string("stopped at the time limit"));
  CHECK(to_string(StopReason::requested) == std::string("stopped on request"));
}

TEST_CASE("metrics are found and set by name") {
  Metrics metrics;
  CHECK_THROWS_WITH(metrics["loss"], Contains("there is no metric 'loss'; there are: none"));
  metrics.set("loss", 1);
  metrics.set("mse", 2);
  metrics.set("loss", 3);
  CHECK(metrics["loss"] == 3);
  CHECK(text_of(metrics) == "loss 3, mse 2");
  CHECK(metrics.find("mae") == nullptr);
  CHECK_THROWS_WITH(metrics["mae"], Contains("there are: 'loss', 'mse'"));
}

TEST_CASE("an epoch is better when it improves by more than the least change") {
  CHECK(judged({.patience = 2}, {3, 3, 2, not_a_number, 2.5, 1}) ==
        Flags{true, false, true, false, false, true});
  CHECK(judged({.patience = 1, .min_delta = 0.5}, {3, 2.5, 2.25, 1}) ==
        Flags{true, false, true, true});
  CHECK(judged({.metric = "val_accuracy", .min_delta = 0.25}, {0.25, 0.5, 0.625, 0.125}) ==
        Flags{true, false, true, false});
  CHECK(judged({.metric = "val_my_accuracy"}, {0.25, 0.5}) == Flags{true, true});
  CHECK(judged({.metric = "accuracy", .maximize = false}, {0.25, 0.5, 0.125}) ==
        Flags{true, false, true});
  CHECK(judged({.metric = "loss", .maximize = true}, {0.25, 0.5}) == Flags{true, true});
  CHECK(judged({}, {not_a_number, not_a_number, 5}) == Flags{false, false, true});
}

TEST_CASE("early stopping names the metrics that there are") {
  const auto make = [](const std::string& metric, const std::vector<std::string>& validation) {
    const fit::BestEpoch best({.metric = metric}, {}, {"loss"}, validation);
  };
  CHECK_NOTHROW(make("val_mse", {"mse"}));
  CHECK_THROWS_WITH(make("val_loss", {"mse"}),
                    Contains("early stopping monitors 'val_loss'; there are: 'loss', 'val_mse'") &&
                        !Contains("without validation"));
  CHECK_THROWS_WITH(make("val_loss", {}), Contains("there are: 'loss' (without validation data)"));
}

TEST_CASE("the best path takes runs of a class as one, and blanks divide them") {
  // Classes a 0, b 1, blank 2; the winner of each step scores 1, of two the first.
  const std::vector<std::int64_t> winners{0, 0, 2, 0, 1, 1, 2, 2, 1, 0};
  Tensor scores(DType::float32, {2, 5, 3});
  for (std::size_t i = 0; i < winners.size(); ++i) {
    scores.mutable_values<float>()[3 * i + static_cast<std::size_t>(winners[i])] = 1;
  }
  CHECK(paths(scores, {5, 5}, 2) == std::vector<Labels>{{0, 0, 1}, {1, 1, 0}});
  CHECK(paths(scores, {3, 0}, 2) == std::vector<Labels>{{0}, {}});
  CHECK(paths(scores, {5, 5}, 0) == std::vector<Labels>{{2, 1}, {1, 2, 1}});
  scores.mutable_values<float>()[1] = 1;
  CHECK(paths(scores, {1, 1}, 2) == std::vector<Labels>{{0}, {1}});
  CHECK_THROWS_WITH(paths(scores, {6, 1}, 2), Contains("a sequence has length 6 of 5"));
  CHECK_THROWS_WITH(paths(scores, {-1, 1}, 2), Contains("a sequence has length -1 of 5"));
  CHECK_THROWS_WITH(paths(scores, {1}, 2), Contains("there are 1 lengths of 2 sequences"));
  CHECK_THROWS_WITH(paths(Tensor(DType::float32, {2, 5, 0}), {1, 1}, 2),
                    Contains("sequences need scores [batch, steps, classes]"));
  scores.mutable_values<float>()[1] = 0;
  CHECK(best_paths(scores, 2) == paths(scores, {5, 5}, 2));
  const Tensor labels = Tensor::of<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(fit::cut_labels(labels, counts({3, 2})) == std::vector<Labels>{{1, 2, 3}, {4, 5}});
  CHECK_THROWS_WITH(fit::cut_labels(labels, counts({4, 2})),
                    Contains("a sequence has length 4 of 3"));
  CHECK_THROWS_WITH(fit::cut_labels(counts({4, 2}), counts({4, 2})),
                    Contains("sequences need labels [batch, labels]"));
}
