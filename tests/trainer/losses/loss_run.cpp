#include "tests/trainer/losses/loss_run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>

namespace ondine::test {
namespace {

NamedValues feeds_of(const Tensor& y, const NamedValues& labels, float rate) {
  NamedValues feeds{{"x", y}, {"learning_rate", Tensor::scalar(rate)}};
  feeds.insert(feeds.end(), labels.begin(), labels.end());
  return feeds;
}

}  // namespace

std::vector<std::byte> given_numbers(const Shape& shape, std::int64_t opset) {
  ModelBuilder b("given", opset);
  std::vector<ModelBuilder::Dim> dims;
  for (const std::int64_t size : shape) dims.emplace_back(size);
  const std::string x = b.input("x", DType::float64, dims);
  b.node("Add", {x, b.initializer("w", Tensor(DType::float64, shape))}, {}, "y");
  b.output("y", DType::float64, dims);
  return b.bytes();
}

LossRun run_loss(PrepareOptions options, const Tensor& y, const NamedValues& labels) {
  options.init = WeightInit::keep;
  options.optimizer = Sgd{};
  Model model = prepare(given_numbers(y.shape()), options);
  const Results results = model.train_step(feeds_of(y, labels, 1));
  LossRun run;
  run.loss = results.scalar("loss");
  for (const auto& [name, value] : results) {
    if (name == "accuracy") run.accuracy = results.scalar(name);
  }
  const Tensor after = model.get_state("w");
  for (const double w : after.values<double>()) run.gradient.push_back(-w);
  return run;
}

LossRun check_loss(const PrepareOptions& options, const Tensor& y, const NamedValues& labels) {
  const LossRun run = run_loss(options, y, labels);
  PrepareOptions kept = options;
  kept.init = WeightInit::keep;
  Model model = prepare(given_numbers(y.shape()), kept);
  constexpr double step = 1e-5;
  const auto loss_at = [&](std::size_t element, double shift) {
    Tensor moved(DType::float64, y.shape());
    std::copy(y.values<double>().begin(), y.values<double>().end(),
              moved.mutable_values<double>().begin());
    moved.mutable_values<double>()[element] += shift;
    return model.train_step(feeds_of(moved, labels, 0)).scalar("loss");
  };
  for (std::size_t i = 0; i < run.gradient.size(); ++i) {
    const double numeric = (loss_at(i, step) - loss_at(i, -step)) / (2 * step);
    INFO("element " << i);
    CHECK(run.gradient[i] == Approx(numeric).epsilon(1e-6).margin(1e-9));
  }
  return run;
}

std::vector<double> log_softmax_of(const std::vector<double>& scores) {
  double total = 0;
  for (const double score : scores) total += std::exp(score);
  std::vector<double> result;
  for (const double score : scores) result.push_back(std::log(std::exp(score) / total));
  return result;
}

std::vector<double> along_classes(const Tensor& y, std::size_t n, std::size_t position) {
  const auto classes = static_cast<std::size_t>(y.shape()[1]);
  const std::size_t positions =
      y.shape().rank() > 2 ? static_cast<std::size_t>(y.shape()[2]) : std::size_t{1};
  std::vector<double> result;
  for (std::size_t c = 0; c < classes; ++c) {
    result.push_back(y.values<double>()[(n * classes + c) * positions + position]);
  }
  return result;
}

}  // namespace ondine::test
