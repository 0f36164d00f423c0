// Losses on probabilities and on the logits behind them, by their numbers.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// logits = x w + b, then `end` makes "p" of them.
template <class End>
std::vector<std::byte> classifier(const End& end, std::int64_t opset = 17) {
  ModelBuilder b("classifier", opset);
  const std::string x = b.input("x", DType::float32, {"N", 4});
  b.node(
      "Gemm",
      {x, b.initializer("w", random_floats({4, 3}, 1)), b.initializer("b", random_floats({3}, 2))},
      {}, "logits");
  end(b);
  b.output("p", DType::float32, {"N", 3});
  return b.bytes();
}

NamedValues class_batch() {
  return {{"x", random_floats({5, 4}, 3)},
          {"label", Tensor::of<std::int64_t>({5}, {0, 1, 2, 1, 0})}};
}

std::vector<float> after_steps(Model model, const NamedValues& batch) {
  for (int i = 0; i < 4; ++i) model.train_step(batch);
  return model.parameters();
}

// p = x, but for a factor to train.
Model of_probabilities(Loss loss, DType dtype = DType::float32) {
  ModelBuilder b("given");
  const std::string x = b.input("x", dtype, {"N", 2});
  Tensor ones =
      dtype == DType::float64 ? Tensor::of<double>({2}, {1, 1}) : Tensor::of<float>({2}, {1, 1});
  b.node("Mul", {x, b.initializer("w", std::move(ones))}, {}, "p");
  b.output("p", dtype, {"N", 2});
  return prepare(b.bytes(), {.loss = loss, .optimizer = Sgd{.learning_rate = 1}});
}

}  // namespace

TEST_CASE("training through a decomposed softmax is training on its logits") {
  const auto plain = classifier([](ModelBuilder& b) { b.node("Identity", {"logits"}, {}, "p"); });
  const auto want = after_steps(prepare(plain), class_batch());
  const auto axes = Tensor::of<std::int64_t>({1}, {1});
  const auto decomposed = classifier([&](ModelBuilder& b) {
    b.node("ReduceMax", {"logits"}, {{"axes", std::vector<std::int64_t>{1}}}, "m");
    b.node("Sub", {"logits", "m"}, {}, "z");
    b.node("Exp", {"z"}, {}, "e");
    b.node("ReduceSum", {"e", b.initializer("axes", axes)}, {}, "s");
    b.node("Div", {"e", "s"}, {}, "q");
    b.node("Unsqueeze", {"q", "axes"}, {}, "u");
    b.node("Squeeze", {"u", "axes"}, {}, "p");
  });
  CHECK(after_steps(prepare(decomposed), class_batch()) == want);
  const auto log_softmax =
      classifier([](ModelBuilder& b) { b.node("LogSoftmax", {"logits"}, {}, "p"); });
  CHECK(after_steps(prepare(log_softmax), class_batch()) == want);
  // Losses from the probabilities are the same, but for rounding.
  for (const auto& model : {decomposed, log_softmax}) {
    const auto got = after_steps(prepare(model, {.loss = Loss::nll}), class_batch());
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-5));
  }
}

TEST_CASE("binary cross entropy of probabilities is that of their logits") {
  const auto model = classifier([](ModelBuilder& b) { b.node("Sigmoid", {"logits"}, {}, "p"); });
  const NamedValues batch{{"x", random_floats({5, 4}, 3)},
                          {"label", random_floats({5, 3}, 4, 0, 1)}};
  const auto want = after_steps(prepare(model, {.loss = Loss::bce_with_logits}), batch);
  const auto got = after_steps(prepare(model, {.loss = Loss::bce_probabilities}), batch);
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-5));
}

TEST_CASE("logarithms of probabilities are not below -100, and derivatives stay finite") {
  const float least = std::numeric_limits<float>::denorm_min();
  Model bce = of_probabilities(Loss::bce_probabilities);
  // -log 1, -log 0, -log 0.25, -log(1 - 0.25)
  const Results results = bce.train_step({{"x", Tensor::of<float>({2, 2}, {1, 0, 0.25F, 0.25F})},
                                          {"label", Tensor::of<float>({2, 2}, {1, 1, 1, 0})}});
  CHECK(results.scalar("loss") == Approx((0 + 100 - std::log(0.25) - std::log(0.75)) / 4));
  for (const float w : bce.parameters()) CHECK(std::isfinite(w));
  const Results wrong = of_probabilities(Loss::bce_probabilities)
                            .train_step({{"x", Tensor::of<float>({1, 2}, {1, least})},
                                         {"label", Tensor::of<float>({1, 2}, {0, 1})}});
  CHECK(wrong.scalar("loss") == Approx(100));

  Model nll = of_probabilities(Loss::nll);
  const Results loss = nll.train_step({{"x", Tensor::of<float>({2, 2}, {0, 1, 0.5F, 0.5F})},
                                       {"label", Tensor::of<std::int64_t>({2}, {0, 1})}});
  CHECK(loss.scalar("loss") == Approx((100 - std::log(0.5)) / 2));
  CHECK(loss.scalar("accuracy") == 0);
  // d/dw of -log(0.5 w) / 2
  CHECK(nll.parameters()[0] == 1);
  CHECK(nll.parameters()[1] == Approx(1.5));

  Model wide = of_probabilities(Loss::bce_probabilities, DType::float64);
  const Results exact = wide.train_step({{"x", Tensor::of<double>({1, 2}, {1e-40, 1e-300})},
                                         {"label", Tensor::of<double>({1, 2}, {1, 1})}});
  CHECK(exact.scalar("loss") == Approx((40 * std::log(10.0) + 100) / 2));
}

TEST_CASE("the loss may read a value inside the network, whose type inference gives") {
  ModelBuilder b("inner");
  const std::string x = b.input("x", DType::float32, {"N", 4});
  b.node("MatMul", {x, b.initializer("w", random_floats({4, 3}, 1))}, {}, "h");
  b.node("Relu", {"h"}, {}, "y");
  b.output("y", DType::float32, {"N", 3});
  PrepareReport report;
  Model model = prepare(b.bytes(), {.loss = Loss::mse, .output = "h"}, {}, &report);
  CHECK(report.prediction == "h");
  const Tensor rows = random_floats({2, 4}, 5);
  const Tensor w = random_floats({4, 3}, 1);
  double sum = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    double h = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      h += double{rows.values<float>()[i / 3 * 4 + k]} * double{w.values<float>()[k * 3 + i % 3]};
    }
    sum += h * h;
  }
  const auto results = model.train_step({{"x", rows}, {"label", Tensor(DType::float32, {2, 3})}});
  CHECK(results.scalar("loss") == Approx(sum / 6));
}

TEST_CASE("a mask of infinities stays as it is, whatever the optimizer") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto masked = classifier([&](ModelBuilder& b) {
    const auto mask =
        Tensor::of<float>({3, 3}, {0, -infinity, -infinity, 0, 0, -infinity, 0, 0, 0});
    b.node("MatMul", {"logits", b.initializer("v", random_floats({3, 9}, 6))}, {}, "h");
    b.node("Reshape", {"h", b.initializer("s", Tensor::of<std::int64_t>({3}, {-1, 3, 3}))}, {},
           "a");
    b.node("Add", {"a", b.initializer("mask", mask)}, {}, "scores");
    b.node("Softmax", {"scores"}, {{"axis", std::int64_t{-1}}}, "attention");
    b.node("ReduceMean", {"attention"},
           {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{0}}}, "p");
  });
  for (const Optimizer& optimizer : {Optimizer(Sgd{}), Optimizer(Momentum{}), Optimizer(AdamW{})}) {
    PrepareReport report;
    Model model = prepare(masked, {.loss = Loss::mse, .optimizer = optimizer}, {}, &report);
    CHECK(report.frozen == std::vector<std::string>{"mask"});
    const NamedValues batch{{"x", random_floats({5, 4}, 3)}, {"label", random_floats({5, 3}, 4)}};
    for (const float one : after_steps(std::move(model), batch)) CHECK(std::isfinite(one));
  }
}
