// Cross entropy with weights, smoothing, ignored and soft labels; KL divergence; focal loss.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/random_tensor.h"
#include "tests/trainer/losses/loss_run.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::int64_t ignored = -100;

// [2, 3, 4] logits and [2, 4] labels, one of them ignored where asked.
struct Case {
  Tensor y = random_tensor({2, 3, 4}, 1);
  std::vector<std::int64_t> labels{0, 1, 2, 1, 2, 2, 0, 1};

  NamedValues feeds() const {
    Tensor label(DType::int64, {2, 4});
    std::copy(labels.begin(), labels.end(), label.mutable_values<std::int64_t>().begin());
    return {{"label", label}};
  }
};

// PyTorch's definition, label by label.
double cross_entropy_of(const Case& data, const std::vector<double>& weights, double smoothing) {
  double hits = 0;
  double smooth = 0;
  double total = 0;
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    if (data.labels[i] == ignored) continue;
    const auto label = static_cast<std::size_t>(data.labels[i]);
    const std::vector<double> log_p = log_softmax_of(along_classes(data.y, i / 4, i % 4));
    hits -= weights[label] * log_p[label];
    for (std::size_t c = 0; c < 3; ++c) smooth -= weights[c] * log_p[c];
    total += weights[label];
  }
  return ((1 - smoothing) * hits + smoothing / 3 * smooth) / total;
}

Tensor label_probabilities(const Shape& shape) {
  Tensor t = random_tensor(shape, 7, 0, 1);
  auto values = t.mutable_values<double>();
  const auto positions = static_cast<std::size_t>(shape.size(2, shape.rank()));
  const auto classes = static_cast<std::size_t>(shape[1]);
  for (std::size_t n = 0; n < static_cast<std::size_t>(shape[0]); ++n) {
    for (std::size_t p = 0; p < positions; ++p) {
      double sum = 0;
      for (std::size_t c = 0; c < classes; ++c) sum += values[(n * classes + c) * positions + p];
      for (std::size_t c = 0; c < classes; ++c) values[(n * classes + c) * positions + p] /= sum;
    }
  }
  return t;
}

}  // namespace

TEST_CASE("cross entropy with weights, smoothing and ignored labels is PyTorch's") {
  const bool weighted = GENERATE(false, true);
  const bool smoothed = GENERATE(false, true);
  const bool ignores = GENERATE(false, true);
  if (!weighted && !smoothed && !ignores) return;
  CAPTURE(weighted, smoothed, ignores);
  Case data;
  if (ignores) data.labels[3] = data.labels[4] = ignored;
  PrepareOptions options;
  if (weighted) options.class_weights = {0.5F, 2, 1};
  if (smoothed) options.label_smoothing = 0.25F;
  if (ignores) options.ignore_index = ignored;
  const std::vector<double> weights =
      weighted ? std::vector<double>{0.5, 2, 1} : std::vector<double>{1, 1, 1};
  const LossRun run = check_loss(options, data.y, data.feeds());
  CHECK(run.loss == Approx(cross_entropy_of(data, weights, smoothed ? 0.25 : 0)).epsilon(1e-12));
}

TEST_CASE("a batch whose labels are all ignored has loss 0 and no derivative") {
  Case data;
  data.labels.assign(8, 1);
  PrepareOptions options{.label_smoothing = 0.1F, .ignore_index = 1, .class_weights = {1, 2, 3}};
  const LossRun run = run_loss(options, data.y, data.feeds());
  CHECK(run.loss == 0);
  CHECK(run.accuracy == 0);
  for (const double one : run.gradient) CHECK(one == 0);
  // Labels of a class without weight count as little.
  options = {.class_weights = {1, 0, 1}};
  CHECK(run_loss(options, data.y, data.feeds()).loss == 0);
}

TEST_CASE("ignored labels are not part of the accuracy, whatever is predicted for them") {
  const Tensor y = Tensor::of<double>({4, 2}, {2, 0, 2, 0, 0, 2, 0, 2});
  const NamedValues labels{{"label", Tensor::of<std::int64_t>({4}, {0, 1, 1, 0})}};
  CHECK(run_loss({}, y, labels).accuracy == Approx(0.5));
  CHECK(run_loss({.ignore_index = 0}, y, labels).accuracy == Approx(0.5));
  const NamedValues more{{"label", Tensor::of<std::int64_t>({4}, {0, 7, 1, 0})}};
  CHECK(run_loss({.ignore_index = 7}, y, more).accuracy == Approx(2.0 / 3));
}

TEST_CASE("a label that is no class is an error, not a number") {
  Case data;
  data.labels[0] = 3;
  CHECK_THROWS_WITH(run_loss({.label_smoothing = 0.1F}, data.y, data.feeds()),
                    Catch::Contains("3"));
  CHECK_THROWS_WITH(run_loss({.loss = Loss::focal}, data.y, data.feeds()), Catch::Contains("3"));
}

TEST_CASE("cross entropy of label probabilities is - sum w t log p, the mean over labels") {
  const bool weighted = GENERATE(false, true);
  const double smoothing = GENERATE(0.0, 0.5);
  const Tensor y = random_tensor({2, 3, 4}, 1);
  const Tensor t = label_probabilities({2, 3, 4});
  PrepareOptions options{.label_smoothing = static_cast<float>(smoothing), .soft_labels = true};
  if (weighted) options.class_weights = {0.5F, 2, 1};
  const std::vector<double> weights =
      weighted ? std::vector<double>{0.5, 2, 1} : std::vector<double>{1, 1, 1};
  double want = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::vector<double> log_p = log_softmax_of(along_classes(y, i / 4, i % 4));
    const std::vector<double> labels = along_classes(t, i / 4, i % 4);
    for (std::size_t c = 0; c < 3; ++c) {
      want -= weights[c] * (labels[c] * (1 - smoothing) + smoothing / 3) * log_p[c] / 8;
    }
  }
  CHECK(check_loss(options, y, {{"label", t}}).loss == Approx(want).epsilon(1e-12));
}

TEST_CASE("soft labels of one class are that class") {
  const Case data;
  Tensor t(DType::float64, {2, 3, 4});
  for (std::size_t i = 0; i < 8; ++i) {
    const auto label = static_cast<std::size_t>(data.labels[i]);
    t.mutable_values<double>()[(i / 4 * 3 + label) * 4 + i % 4] = 1;
  }
  const LossRun want = run_loss({.label_smoothing = 0.2F}, data.y, data.feeds());
  const LossRun got =
      run_loss({.label_smoothing = 0.2F, .soft_labels = true}, data.y, {{"label", t}});
  CHECK(got.loss == Approx(want.loss).epsilon(1e-12));
  CHECK(got.accuracy == want.accuracy);
  for (std::size_t i = 0; i < 24; ++i) {
    CHECK(got.gradient[i] == Approx(want.gradient[i]).epsilon(1e-10));
  }
}

TEST_CASE("the KL divergence is the sum of t (log t - log p) over the batch, 0 where t is 0") {
  const Tensor y = random_tensor({2, 3}, 3);
  const Tensor t = Tensor::of<double>({2, 3}, {0.2, 0.5, 0.3, 0, 1, 0});
  double want = 0;
  for (std::size_t n = 0; n < 2; ++n) {
    const std::vector<double> log_p = log_softmax_of(along_classes(y, n, 0));
    for (std::size_t c = 0; c < 3; ++c) {
      const double label = t.values<double>()[n * 3 + c];
      if (label > 0) want += label * (std::log(label) - log_p[c]) / 2;
    }
  }
  CHECK(check_loss({.loss = Loss::kl}, y, {{"label", t}}).loss == Approx(want).epsilon(1e-12));
  // The divergence of the distribution from itself is 0.
  const Tensor same = Tensor::of<double>({1, 2}, {std::log(0.25), std::log(0.75)});
  const LossRun none =
      run_loss({.loss = Loss::kl}, same, {{"label", Tensor::of<double>({1, 2}, {0.25, 0.75})}});
  CHECK(none.loss == Approx(0).margin(1e-15));
  CHECK(none.accuracy == 1);
}

TEST_CASE("the focal loss is -w (1 - p)^gamma log p of the label's class") {
  const auto gamma = GENERATE(0.0F, 0.5F, 1.0F, 2.0F, 3.5F);
  const Case data;
  const std::vector<double> weights{0.5, 2, 1};
  double want = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const auto label = static_cast<std::size_t>(data.labels[i]);
    const double log_p = log_softmax_of(along_classes(data.y, i / 4, i % 4))[label];
    want -= weights[label] * std::pow(1 - std::exp(log_p), double{gamma}) * log_p / 8;
  }
  const PrepareOptions options{
      .loss = Loss::focal, .class_weights = {0.5F, 2, 1}, .focal_gamma = gamma};
  CHECK(check_loss(options, data.y, data.feeds()).loss == Approx(want).epsilon(1e-10));
}

TEST_CASE("the focal loss of a certain prediction is 0 with a finite derivative") {
  const auto gamma = GENERATE(0.25F, 0.5F, 1.0F, 2.0F);
  const auto score = GENERATE(20.0, 100.0, 1000.0);
  const Tensor y = Tensor::of<double>({1, 3}, {score, 0, 0});
  const LossRun run = run_loss({.loss = Loss::focal, .focal_gamma = gamma}, y,
                               {{"label", Tensor::of<std::int64_t>({1}, {0})}});
  CHECK(run.loss == Approx(0).margin(1e-8));
  for (const double one : run.gradient) CHECK(std::fabs(one) < 1e-8);
}
