// Metrics of classes against sums over all rows or pairs of rows, written out.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <ondine/build.h>

#include "tests/support/random_tensor.h"
#include "tests/trainer/metrics/scored_model.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr std::size_t rows = 40;
constexpr std::size_t classes = 5;

// Class 4 is neither labelled nor predicted; class 3 is predicted only. Scores are coarse, so that
// there are ties.
struct Case {
  std::vector<float> scores;
  std::vector<std::int64_t> labels;
  std::vector<std::size_t> predicted;
};

Case make_case() {
  Case result;
  const Tensor noise = random_floats({static_cast<std::int64_t>(rows * classes)}, 3);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t c = 0; c < classes; ++c) {
      const float score = std::round(noise.values<float>()[i * classes + c] * 4) / 2;
      result.scores.push_back(c == 4 ? -9 : score);
    }
    result.labels.push_back(static_cast<std::int64_t>((i * i + i / 4) % 3));
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c) {
      if (result.scores[i * classes + c] > result.scores[i * classes + best]) best = c;
    }
    result.predicted.push_back(best);
  }
  return result;
}

Evaluation of(const Case& data, const std::vector<std::string>& metrics) {
  return evaluated(passing_model(classes, Loss::softmax_cross_entropy),
                   Tensor::of<float>({rows, classes}, data.scores),
                   Tensor::of<std::int64_t>({rows}, data.labels), metrics);
}

std::size_t count(const Case& data, const std::function<bool(std::size_t, std::size_t)>& holds) {
  std::size_t result = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (holds(static_cast<std::size_t>(data.labels[i]), data.predicted[i])) ++result;
  }
  return result;
}

double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

double probability(const Case& data, std::size_t row, std::size_t c) {
  double sum = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    sum += std::exp(double{data.scores[row * classes + k]});
  }
  return std::exp(double{data.scores[row * classes + c]}) / sum;
}

}  // namespace

TEST_CASE("precision, recall, F1, IoU and Dice of classes follow from their pairs of counts") {
  const Case data = make_case();
  std::vector<std::string> names;
  for (const std::string base : {"precision", "recall", "f1", "iou", "dice"}) {
    for (const std::string suffix : {"", "_macro", "_micro", "_per_class"}) {
      names.push_back(base + suffix);
    }
  }
  const Metrics got = of(data, names).metrics;
  std::map<std::string, double> sums;
  std::size_t present = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    const auto tp = double(count(data, [&](auto l, auto p) { return l == c && p == c; }));
    const auto fp = double(count(data, [&](auto l, auto p) { return l != c && p == c; }));
    const auto fn = double(count(data, [&](auto l, auto p) { return l == c && p != c; }));
    const double precision = ratio(tp, tp + fp);
    const double recall = ratio(tp, tp + fn);
    const std::map<std::string, double> values{
        {"precision", precision},
        {"recall", recall},
        {"f1", ratio(2 * precision * recall, precision + recall)},
        {"dice", ratio(2 * tp, 2 * tp + fp + fn)},
        {"iou", ratio(tp, tp + fp + fn)}};
    if (tp + fp + fn > 0) ++present;
    for (const auto& [name, value] : values) {
      CHECK(got[name + "[" + std::to_string(c) + "]"] == Approx(value).margin(1e-12));
      sums[name] += value;
    }
  }
  REQUIRE(present == 4);
  for (const auto& [name, sum] : sums) {
    CHECK(got[name] == Approx(sum / 4));
    CHECK(got[name + "_macro"] == Approx(sum / 4));
  }
  const auto hits = double(count(data, [](auto l, auto p) { return l == p; }));
  for (const std::string name : {"precision", "recall", "f1", "dice"}) {
    CHECK(got[name + "_micro"] == Approx(hits / rows));
  }
  CHECK(got["iou_micro"] == Approx(hits / (2 * rows - hits)));
}

TEST_CASE(
    "a confusion matrix of thousands of classes shows the worst and puts the others together") {
  constexpr std::int64_t many = 5000;
  Tensor scores(DType::float32, {4, many});
  const std::vector<std::int64_t> labels{7, 4999, 7, 12};
  const std::vector<std::size_t> predicted{7, 20, 30, 12};
  for (std::size_t i = 0; i < 4; ++i) {
    scores.mutable_values<float>()[i * many + predicted[i]] = 1;
  }
  ModelBuilder b("scores");
  b.node("Identity", {b.input("x", DType::float32, {"N", many})}, {}, "y");
  b.output("y", DType::float32, {"N", many});
  const Dataset data =
      Dataset::from({{"x", scores}, {"label", Tensor::of<std::int64_t>({4}, labels)}});
  const Evaluation result =
      evaluate(Model::load(b.bytes()), data, {.metrics = {"confusion_matrix"}});
  REQUIRE(result.confusion);
  const ConfusionMatrix& matrix = *result.confusion;
  CHECK(matrix.names ==
        std::vector<std::string>{"7", "20", "30", "4999", "all 4996 other classes"});
  CHECK(matrix.count(0, 0) == 1);
  CHECK(matrix.count(3, 1) == 1);
  CHECK(matrix.count(0, 2) == 1);
  CHECK(matrix.count(4, 4) == 1);
}

TEST_CASE("a confusion matrix has a row for each label, and the names of classes") {
  const Case data = make_case();
  const Evaluation result = of(data, {"confusion_matrix", "accuracy"});
  REQUIRE(result.confusion);
  CHECK(result.confusion->classes == classes);
  CHECK(result.metrics.size() == 1);
  for (std::size_t l = 0; l < classes; ++l) {
    for (std::size_t p = 0; p < classes; ++p) {
      CHECK(result.confusion->count(l, p) ==
            count(data, [&](auto label, auto predicted) { return label == l && predicted == p; }));
    }
  }
  CHECK_FALSE(of(data, {"accuracy"}).confusion);
}

TEST_CASE("top-k counts labels among the k first classes by score, the earlier of equal ones") {
  const Case data = make_case();
  for (std::size_t k = 1; k <= classes; ++k) {
    double hits = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      std::vector<std::size_t> order{0, 1, 2, 3, 4};
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return data.scores[i * classes + a] > data.scores[i * classes + b];
      });
      for (std::size_t n = 0; n < k; ++n) {
        if (order[n] == static_cast<std::size_t>(data.labels[i])) hits += 1;
      }
    }
    const std::string name = "top" + std::to_string(k);
    CHECK(of(data, {name}).metrics[name] == Approx(hits / rows));
  }
  CHECK(of(data, {"top1"}).metrics["top1"] == of(data, {"accuracy"}).metrics["accuracy"]);
}

TEST_CASE("perplexity is the exponential of the mean negative log-likelihood, of logits or p") {
  const Case data = make_case();
  double sum = 0;
  std::vector<float> probabilities;
  std::vector<float> logs;
  for (std::size_t i = 0; i < rows; ++i) {
    sum -= std::log(probability(data, i, static_cast<std::size_t>(data.labels[i])));
    for (std::size_t c = 0; c < classes; ++c) {
      probabilities.push_back(static_cast<float>(probability(data, i, c)));
      logs.push_back(std::log(probabilities.back()));
    }
  }
  const double wanted = std::exp(sum / rows);
  CHECK(of(data, {"perplexity"}).metrics["perplexity"] == Approx(wanted));
  const Model nll = passing_model(classes, Loss::nll);
  for (const auto& scores : {probabilities, logs}) {
    const Evaluation result =
        evaluated(nll, Tensor::of<float>({rows, classes}, scores),
                  Tensor::of<std::int64_t>({rows}, data.labels), {"perplexity"});
    CHECK(result.metrics["perplexity"] == Approx(wanted));
  }
}

TEST_CASE("ROC-AUC of classes is the mean over classes of the share of pairs in order") {
  const Case data = make_case();
  const Metrics got = of(data, {"roc_auc", "roc_auc_per_class"}).metrics;
  double sum = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    double ordered = 0;
    double pairs = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < rows; ++k) {
        if (data.labels[i] != std::int64_t(c) || data.labels[k] == std::int64_t(c)) continue;
        const double a = probability(data, i, c);
        const double b = probability(data, k, c);
        pairs += 1;
        ordered += a > b ? 1 : std::fabs(a - b) < 1e-14 ? 0.5 : 0;
      }
    }
    CHECK(got["roc_auc[" + std::to_string(c) + "]"] == Approx(ordered / pairs));
    sum += ordered / pairs;
  }
  CHECK(std::isnan(got["roc_auc[3]"]));
  CHECK(got["roc_auc"] == Approx(sum / 3));
}

TEST_CASE("average precision of classes sums precision where recall grows") {
  const Case data = make_case();
  const Metrics got = of(data, {"average_precision", "average_precision_per_class"}).metrics;
  double total = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    // Every distinct probability is a threshold.
    std::set<double, std::greater<>> thresholds;
    for (std::size_t i = 0; i < rows; ++i) {
      // Rounded, so that sums in another order do not split ties.
      thresholds.insert(std::round(probability(data, i, c) * 1e12) / 1e12);
    }
    double before = 0;
    double value = 0;
    for (const double threshold : thresholds) {
      double tp = 0;
      double predicted = 0;
      double positives = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        const bool positive = data.labels[i] == std::int64_t(c);
        const bool chosen = std::round(probability(data, i, c) * 1e12) / 1e12 >= threshold;
        positives += positive ? 1 : 0;
        predicted += chosen ? 1 : 0;
        tp += positive && chosen ? 1 : 0;
      }
      value += (tp / positives - before) * tp / predicted;
      before = tp / positives;
    }
    CHECK(got["average_precision[" + std::to_string(c) + "]"] == Approx(value));
    total += value;
  }
  CHECK(got["average_precision"] == Approx(total / 3));
}

TEST_CASE("a label that is no class stops metrics by class with a message") {
  Case data = make_case();
  data.labels[11] = 5;
  CHECK_THROWS_WITH(of(data, {"f1"}), Contains("label 5") && Contains("5 classes"));
  data.labels[11] = -1;
  CHECK_THROWS_WITH(of(data, {"confusion_matrix"}), Contains("label -1"));
}
