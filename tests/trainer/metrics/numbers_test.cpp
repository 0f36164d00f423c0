// Metrics of numbers and of binary labels against formulas over all rows.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/random_tensor.h"
#include "tests/trainer/metrics/scored_model.h"

using namespace ondine;
using namespace ondine::test;

namespace {

struct Columns {
  std::vector<float> scores;
  std::vector<float> labels;
};

constexpr std::int64_t rows = 30;

Columns numbers() {
  Columns result;
  const Tensor noise = random_floats({rows * 2}, 4);
  for (std::size_t i = 0; i < rows * 2; ++i) {
    // Far from zero: sums of squares lose what a difference of large numbers loses.
    result.labels.push_back(4000 + static_cast<float>(i % 7));
    result.scores.push_back(result.labels.back() + noise.values<float>()[i]);
  }
  return result;
}

Columns truths(std::int64_t columns) {
  Columns result;
  const Tensor noise = random_floats({rows * columns}, 8);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows * columns); ++i) {
    result.labels.push_back(i * 5 % 7 < 3 ? 1.0F : 0.0F);
    result.scores.push_back(std::round(noise.values<float>()[i] * 6) / 3 +
                            result.labels.back() * 0.5F);
  }
  return result;
}

Metrics of(Loss loss, const Columns& data, std::int64_t columns,
           const std::vector<std::string>& names) {
  return evaluated(passing_model(columns, loss), Tensor::of<float>({rows, columns}, data.scores),
                   Tensor::of<float>({rows, columns}, data.labels), names)
      .metrics;
}

struct Counts {
  double tp = 0, fp = 0, fn = 0, tn = 0;
};

Counts counts_of(const Columns& data, std::size_t columns, std::size_t column) {
  Counts counts;
  for (std::size_t i = column; i < data.labels.size(); i += columns) {
    const bool predicted = data.scores[i] > 0;  // logits
    if (data.labels[i] == 1) {
      ++(predicted ? counts.tp : counts.fn);
    } else {
      ++(predicted ? counts.fp : counts.tn);
    }
  }
  return counts;
}

double pairs_in_order(const Columns& data, std::size_t columns, std::size_t column) {
  double ordered = 0;
  double pairs = 0;
  for (std::size_t i = column; i < data.labels.size(); i += columns) {
    for (std::size_t k = column; k < data.labels.size(); k += columns) {
      if (data.labels[i] != 1 || data.labels[k] != 0) continue;
      pairs += 1;
      ordered += data.scores[i] > data.scores[k] ? 1 : data.scores[i] == data.scores[k] ? 0.5 : 0;
    }
  }
  return ordered / pairs;
}

}  // namespace

TEST_CASE("errors of numbers are over all rows, R2 is the mean of its columns") {
  const Columns data = numbers();
  const Metrics got = of(Loss::mse, data, 2, {"mse", "mae", "rmse", "r2"});
  double squares = 0;
  double distances = 0;
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    const double d = double{data.scores[i]} - double{data.labels[i]};
    squares += d * d;
    distances += std::fabs(d);
  }
  const auto count = double(data.labels.size());
  CHECK(got["mse"] == Approx(squares / count));
  CHECK(got["rmse"] == Approx(std::sqrt(squares / count)));
  CHECK(got["mae"] == Approx(distances / count));
  double r2 = 0;
  for (std::size_t c = 0; c < 2; ++c) {
    double mean = 0;
    for (std::size_t i = c; i < data.labels.size(); i += 2) mean += double{data.labels[i]} / rows;
    double residuals = 0;
    double deviations = 0;
    for (std::size_t i = c; i < data.labels.size(); i += 2) {
      residuals += std::pow(double{data.scores[i]} - double{data.labels[i]}, 2);
      deviations += std::pow(double{data.labels[i]} - mean, 2);
    }
    r2 += (1 - residuals / deviations) / 2;
  }
  CHECK(got["r2"] == Approx(r2).epsilon(1e-9));
}

TEST_CASE("R2 of labels that are all the same is 1 for exact predictions and 0 for others") {
  Columns data;
  data.labels.assign(rows, 3);
  data.scores.assign(rows, 3);
  CHECK(of(Loss::mae, data, 1, {"r2"})["r2"] == 1);
  data.scores[5] = 4;
  CHECK(of(Loss::mae, data, 1, {"r2"})["r2"] == 0);
}

TEST_CASE("binary metrics of one column are those of label 1") {
  const Columns data = truths(1);
  const Counts n = counts_of(data, 1, 0);
  REQUIRE(n.tp * n.fp * n.fn * n.tn > 0);
  const Metrics got = of(Loss::bce_with_logits, data, 1,
                         {"accuracy", "precision", "recall", "f1", "iou", "dice", "f1_micro",
                          "roc_auc", "average_precision"});
  CHECK(got["accuracy"] == Approx((n.tp + n.tn) / rows));
  CHECK(got["precision"] == Approx(n.tp / (n.tp + n.fp)));
  CHECK(got["recall"] == Approx(n.tp / (n.tp + n.fn)));
  CHECK(got["f1"] == Approx(n.tp / (n.tp + (n.fp + n.fn) / 2)));
  CHECK(got["dice"] == got["f1"]);
  CHECK(got["f1_micro"] == got["f1"]);
  CHECK(got["iou"] == Approx(n.tp / (n.tp + n.fp + n.fn)));
  CHECK(got["roc_auc"] == Approx(pairs_in_order(data, 1, 0)));
  // Precision at each positive, with all rows that score at least as much, averaged.
  double sum = 0;
  double positives = 0;
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    if (data.labels[i] != 1) continue;
    double tp = 0;
    double all = 0;
    for (std::size_t k = 0; k < data.labels.size(); ++k) {
      if (data.scores[k] < data.scores[i]) continue;
      all += 1;
      tp += double{data.labels[k]};
    }
    sum += tp / all;
    positives += 1;
  }
  CHECK(got["average_precision"] == Approx(sum / positives));
}

TEST_CASE("binary metrics of several columns are means over the columns, micro over all labels") {
  const Columns data = truths(3);
  const Metrics got =
      of(Loss::bce_with_logits, data, 3, {"recall", "recall_micro", "recall_per_class", "roc_auc"});
  Counts all;
  double recall = 0;
  double auc = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    const Counts n = counts_of(data, 3, c);
    all.tp += n.tp;
    all.fn += n.fn;
    recall += n.tp / (n.tp + n.fn) / 3;
    auc += pairs_in_order(data, 3, c) / 3;
    CHECK(got["recall[" + std::to_string(c) + "]"] == Approx(n.tp / (n.tp + n.fn)));
  }
  CHECK(got["recall"] == Approx(recall));
  CHECK(got["recall_micro"] == Approx(all.tp / (all.tp + all.fn)));
  CHECK(got["roc_auc"] == Approx(auc));
}

TEST_CASE("a confusion matrix of binary labels has classes false and true") {
  const Columns data = truths(1);
  const Counts n = counts_of(data, 1, 0);
  const Evaluation result =
      evaluated(passing_model(1, Loss::bce_with_logits), Tensor::of<float>({rows, 1}, data.scores),
                Tensor::of<float>({rows, 1}, data.labels), {"confusion_matrix"});
  REQUIRE(result.confusion);
  CHECK(result.confusion->classes == 2);
  CHECK(double(result.confusion->count(0, 0)) == n.tn);
  CHECK(double(result.confusion->count(0, 1)) == n.fp);
  CHECK(double(result.confusion->count(1, 0)) == n.fn);
  CHECK(double(result.confusion->count(1, 1)) == n.tp);
}
