#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor labels(const Shape& shape, std::int64_t classes, bool some_ignored) {
  Tensor t(DType::int64, shape);
  auto values = t.mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int64_t>(i * 7 + 1) % classes;
    if (some_ignored && i % 3 == 1) values[i] = -5;
  }
  return t;
}

// Scores are log probabilities of [batch, classes, positions].
Tensor expected(const Tensor& log_p, const Tensor& target, const Tensor* weights,
                const std::string& reduction) {
  const auto classes = log_p.shape()[1];
  const auto positions = log_p.shape().size(2, log_p.shape().rank());
  Tensor each(DType::float64, target.shape());
  double sum = 0;
  double weight_sum = 0;
  for (std::int64_t i = 0; i < target.size(); ++i) {
    const auto t = target.values<std::int64_t>()[static_cast<std::size_t>(i)];
    if (t == -5) continue;
    const double w = weights ? weights->values<double>()[static_cast<std::size_t>(t)] : 1;
    const auto at = (i / positions * classes + t) * positions + i % positions;
    const double loss = -w * log_p.values<double>()[static_cast<std::size_t>(at)];
    each.mutable_values<double>()[static_cast<std::size_t>(i)] = loss;
    sum += loss;
    weight_sum += w;
  }
  if (reduction == "none") return each;
  return Tensor::scalar(reduction == "sum" ? sum : sum / weight_sum);
}

struct LossCase {
  Shape scores;
  Shape targets;
};
const std::vector<LossCase> loss_cases{
    {{5, 3}, {5}}, {{2, 4, 3}, {2, 3}}, {{2, 3, 2, 2}, {2, 2, 2}}, {{1, 2, 300}, {1, 300}}};

}  // namespace

TEST_CASE("Both losses with every reduction, weights and ignored labels") {
  for (const auto& c : loss_cases) {
    for (const std::string reduction : {"none", "sum", "mean"}) {
      for (const bool weighted : {false, true}) {
        for (const bool ignoring : {false, true}) {
          INFO(c.scores.to_string() << " " << reduction << " " << weighted << ignoring);
          const Tensor x = random_tensor(c.scores, 1);
          const Tensor target = labels(c.targets, c.scores[1], ignoring);
          const Tensor weights = random_tensor({c.scores[1]}, 2, 0.5, 2);
          std::vector<Value> inputs{x, target};
          if (weighted) inputs.emplace_back(weights);
          graph::Attributes attributes{{"reduction", reduction}};
          if (ignoring) attributes.emplace_back("ignore_index", -5L);
          check_close(run_op_tensor({"NegativeLogLikelihoodLoss", inputs, attributes}),
                      expected(x, target, weighted ? &weights : nullptr, reduction));
          const auto both = run_op({"SoftmaxCrossEntropyLoss", inputs, attributes, 2});
          const Tensor log_p = run_op_tensor({"LogSoftmax", {x}, {{"axis", 1L}}});
          check_close(both[1].tensor(), log_p);
          check_close(both[0].tensor(),
                      expected(log_p, target, weighted ? &weights : nullptr, reduction));
        }
      }
    }
  }
}

TEST_CASE("A label that is no class is an error that names it") {
  const Tensor x = random_tensor({2, 3}, 1);
  const auto target = Tensor::of<std::int32_t>({2}, {0, 3});
  for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    CHECK_THROWS_WITH(run_op({op, {x, target}}),
                      Catch::Contains("label 3") && Catch::Contains("3 classes"));
    CHECK_NOTHROW(run_op({op, {x, target}, {{"ignore_index", 3L}}}));
  }
}

TEST_CASE("Losses reject shapes and attributes that do not fit") {
  const Tensor x = random_tensor({2, 3}, 1);
  const auto target = Tensor::of<std::int64_t>({2}, {0, 1});
  CHECK_THROWS_AS(run_op({"SoftmaxCrossEntropyLoss", {x, Tensor(DType::int64, {3})}}), Error);
  CHECK_THROWS_AS(run_op({"SoftmaxCrossEntropyLoss", {x, Tensor(DType::int64, {2, 1})}}), Error);
  CHECK_THROWS_AS(run_op({"SoftmaxCrossEntropyLoss", {x, target, random_tensor({2}, 1)}}), Error);
  CHECK_THROWS_AS(
      run_op({"SoftmaxCrossEntropyLoss", {x, target}, {{"reduction", std::string("max")}}}), Error);
  CHECK_THROWS_AS(run_op({"NegativeLogLikelihoodLoss", {random_tensor({2}, 1), target}}), Error);
}

TEST_CASE("the derivative of a loss rejects labels that its scores do not have") {
  const Tensor scores = random_tensor({2, 3}, 1);
  const auto grad = [&](const Value& labels) {
    return OpCase{.op = "SoftmaxCrossEntropyLossGrad",
                  .inputs = {random_tensor({}, 2), scores, labels},
                  .domain = "ai.ondine",
                  .version = 1};
  };
  CHECK(run_op_tensor(grad(Tensor::of<std::int64_t>({2}, {0, 2}))).shape() == scores.shape());
  CHECK_THROWS_WITH(run_op(grad(Tensor(DType::int64, {3}))), Catch::Contains("scores and labels"));
  CHECK_THROWS_WITH(run_op(grad(Tensor(DType::int64, {2, 1}))), Catch::Contains("do not fit"));
  CHECK_THROWS_WITH(run_op(grad(random_tensor({2}, 3))), Catch::Contains("labels must be int32"));
}

TEST_CASE("The mean of no labels is not a number") {
  const Tensor y = run_op_tensor(
      {"SoftmaxCrossEntropyLoss", {random_tensor({0, 3}, 1), Tensor(DType::int64, {0})}});
  CHECK(std::isnan(y.values<double>()[0]));
}
TEST_CASE("Derivatives of the losses by scores and weights") {
  for (const std::string reduction : {"none", "sum", "mean"}) {
    for (const bool ignoring : {false, true}) {
      const Tensor x = random_tensor({3, 3, 2}, 1);
      const Tensor target = labels({3, 2}, 3, ignoring);
      graph::Attributes attributes{{"reduction", reduction}};
      if (ignoring) attributes.emplace_back("ignore_index", -5L);
      const Tensor weights = random_tensor({3}, 2, 0.5, 2);
      for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
        INFO(op << " " << reduction << ignoring);
        check_gradient({op, {x, target}, attributes});
        check_gradient({op, {x, target, weights}, attributes});
      }
      check_gradient({"SoftmaxCrossEntropyLoss", {x, target, weights}, attributes, 2});
    }
  }
}
