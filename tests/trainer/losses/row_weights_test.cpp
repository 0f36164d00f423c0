// A row of weight k counts as k rows of weight 1 do, in losses, derivatives and accuracies.
#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/data_record.h>

#include "tests/support/random_tensor.h"
#include "tests/trainer/losses/loss_run.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// Rows of the tensor by their numbers.
Tensor rows_of(const Tensor& all, const std::vector<std::size_t>& rows) {
  std::vector<std::int64_t> dims(all.shape().begin(), all.shape().end());
  dims[0] = static_cast<std::int64_t>(rows.size());
  Tensor result(all.dtype(), Shape(dims));
  const std::size_t bytes = all.bytes() / static_cast<std::size_t>(all.shape()[0]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(static_cast<const std::byte*>(all.data()) + rows[i] * bytes, bytes,
                static_cast<std::byte*>(result.mutable_data()) + i * bytes);
  }
  return result;
}

Tensor integer_labels(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::of(shape, values);
}

struct Case {
  PrepareOptions options;
  Tensor y;
  NamedValues labels;
};

// Four rows for each loss.
std::vector<Case> cases() {
  std::vector<Case> result;
  const Tensor y = random_tensor({4, 3}, 1);
  const Tensor classes = integer_labels({4}, {0, 2, 1, 1});
  const Tensor pixels = random_tensor({4, 3, 2}, 2);
  const Tensor pixel_classes = integer_labels({4, 2}, {0, 2, 1, 1, 2, 0, 0, 1});
  const auto with = [&](Loss loss, const Tensor& values, const Tensor& label) {
    PrepareOptions options;
    options.loss = loss;
    result.push_back({options, values, {{"label", label}}});
    return &result.back().options;
  };
  with(Loss::softmax_cross_entropy, y, classes);
  with(Loss::softmax_cross_entropy, pixels, pixel_classes);
  with(Loss::softmax_cross_entropy, y, classes)->label_smoothing = 0.25F;
  with(Loss::focal, y, classes);
  with(Loss::nll, random_tensor({4, 3}, 3, 0.1, 0.9), classes);
  for (const Loss loss : {Loss::mse, Loss::mae, Loss::huber, Loss::cosine}) {
    with(loss, y, random_tensor({4, 3}, 4));
  }
  for (const Loss loss : {Loss::bce_with_logits, Loss::dice}) {
    with(loss, y, random_tensor({4, 3}, 5, 0, 1));
  }
  with(Loss::bce_probabilities, random_tensor({4, 3}, 6, 0.1, 0.9),
       random_tensor({4, 3}, 7, 0.1, 0.9));
  with(Loss::hinge, y, rows_of(Tensor::of<double>({2, 3}, {1, -1, 1, -1, -1, 1}), {0, 1, 1, 0}));
  Tensor soft = Tensor::of<double>({2, 3}, {0.5, 0.25, 0.25, 0.125, 0.125, 0.75});
  soft = rows_of(soft, {0, 1, 1, 0});
  with(Loss::kl, y, soft);
  with(Loss::softmax_cross_entropy, y, soft)->soft_labels = true;
  return result;
}

NamedValues chosen(const NamedValues& labels, const std::vector<std::size_t>& rows) {
  NamedValues result;
  for (const auto& [name, value] : labels) result.emplace_back(name, rows_of(value.tensor(), rows));
  return result;
}

}  // namespace

TEST_CASE("a row of weight 2 counts as two rows, one of weight 0 as none, for every loss") {
  for (const Case& one : cases()) {
    CAPTURE(static_cast<int>(one.options.loss), one.options.label_smoothing);
    const LossRun repeated =
        run_loss(one.options, rows_of(one.y, {0, 1, 1, 3}), chosen(one.labels, {0, 1, 1, 3}));
    PrepareOptions options = one.options;
    options.row_weights = true;
    NamedValues labels = one.labels;
    labels.emplace_back("label_weights", Tensor::of<double>({4}, {1, 2, 0, 1}));
    const LossRun weighed = check_loss(options, one.y, labels);
    CHECK(weighed.loss == Approx(repeated.loss).epsilon(1e-9));
    CHECK(weighed.accuracy == Approx(repeated.accuracy));
    const std::size_t width = weighed.gradient.size() / 4;
    for (std::size_t i = 0; i < width; ++i) {
      CHECK(weighed.gradient[i] == Approx(repeated.gradient[i]).margin(1e-12));
      CHECK(weighed.gradient[width + i] ==
            Approx(repeated.gradient[width + i] + repeated.gradient[2 * width + i]).margin(1e-12));
      CHECK(weighed.gradient[2 * width + i] == 0);
    }
  }
}

TEST_CASE("rows that all have weight 1 have the loss of rows without weights") {
  for (const Case& one : cases()) {
    PrepareOptions options = one.options;
    if (options.loss == Loss::softmax_cross_entropy && !options.soft_labels) {
      options.class_weights = {0.5F, 2, 1};
      options.ignore_index = 1;
    }
    const LossRun plain = run_loss(options, one.y, one.labels);
    options.row_weights = true;
    NamedValues labels = one.labels;
    labels.emplace_back("label_weights", Tensor::of<double>({4}, {1, 1, 1, 1}));
    const LossRun weighed = run_loss(options, one.y, labels);
    CHECK(weighed.loss == Approx(plain.loss).epsilon(1e-9));
    CHECK(weighed.accuracy == Approx(plain.accuracy));
  }
}

TEST_CASE("the weights of rows are an input behind the labels, which the data record names") {
  PrepareOptions options;
  options.label = "answer";
  options.row_weights = true;
  const Model model = prepare(given_numbers({4, 3}), options);
  const std::vector<PortInfo> inputs = model.algorithm(0).inputs;
  std::vector<std::string> names;
  for (const PortInfo& one : inputs) names.push_back(one.name);
  const auto label = std::find(names.begin(), names.end(), "answer");
  REQUIRE(label != names.end());
  CHECK(std::find(label, names.end(), "answer_weights") != names.end());
  CHECK(data_record(model).prediction.weights == "answer_weights");
  CHECK(data_record(model).prediction.label == "answer");
}

TEST_CASE("losses of pairs and loss models take no weights of rows") {
  for (const Loss loss : {Loss::triplet, Loss::contrastive}) {
    PrepareOptions options;
    options.loss = loss;
    options.row_weights = true;
    CHECK_THROWS_WITH(prepare(given_numbers({4, 3}), options),
                      Contains("weights of rows are for losses that are a mean over rows"));
  }
}
