// Accumulated gradients, averages and groups of learning rates, computed again in double.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include <ondine/build.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

struct Samples {
  std::vector<float> xs;
  std::vector<float> ts;
};

const std::vector<Samples> batches{{{1, -2, 0.5F}, {2, 1, -1}}, {{3}, {-1}}, {{0.25F, 2}, {1, 4}}};

// y = x a b, trained on the mean squared error.
std::vector<std::byte> product_model() {
  ModelBuilder b("product");
  b.input("x", DType::float32, {"N", 1});
  b.node("MatMul", {"x", b.initializer("a", Tensor::of<float>({1, 1}, {0.75F}))}, {}, "h");
  b.node("MatMul", {"h", b.initializer("b", Tensor::of<float>({1, 1}, {1.5F}))}, {}, "y");
  b.output("y", DType::float32, {"N", 1});
  return b.bytes();
}

NamedValues feeds_of(const Samples& batch) {
  const auto n = static_cast<std::int64_t>(batch.xs.size());
  Tensor x(DType::float32, {n, 1});
  Tensor t(DType::float32, {n, 1});
  std::copy(batch.xs.begin(), batch.xs.end(), x.mutable_values<float>().begin());
  std::copy(batch.ts.begin(), batch.ts.end(), t.mutable_values<float>().begin());
  return {{"x", x}, {"label", t}};
}

struct Weights {
  double a = 0.75;
  double b = 1.5;
};

// Sum over rows of the derivatives of (x a b - t)^2.
Weights gradient_sum(const Samples& batch, const Weights& w) {
  Weights sum{0, 0};
  for (std::size_t i = 0; i < batch.xs.size(); ++i) {
    const double x = double{batch.xs[i]};
    const double d = 2 * (x * w.a * w.b - double{batch.ts[i]});
    sum.a += d * x * w.b;
    sum.b += d * x * w.a;
  }
  return sum;
}

Weights mean_gradient(const std::vector<Samples>& group, const Weights& w) {
  Weights mean{0, 0};
  double rows = 0;
  for (const Samples& batch : group) {
    const Weights sum = gradient_sum(batch, w);
    mean.a += sum.a;
    mean.b += sum.b;
    rows += static_cast<double>(batch.xs.size());
  }
  return {mean.a / rows, mean.b / rows};
}

double number(const Model& model, const char* name) {
  return double{model.get_state(name).item<float>()};
}

void check_weights(const Model& model, const Weights& w) {
  CHECK(number(model, "a") == Approx(w.a).epsilon(1e-5));
  CHECK(number(model, "b") == Approx(w.b).epsilon(1e-5));
}

}  // namespace

TEST_CASE("accumulated gradients update by their mean over the rows of all batches") {
  for (const float clip : {0.0F, 0.5F}) {
    PrepareOptions options{.loss = Loss::mse,
                           .optimizer = Momentum{.learning_rate = 0.05F, .momentum = 0.5F},
                           .init = WeightInit::keep,
                           .accumulate = 2};
    if (clip != 0) options.clip_norm = clip;
    Model model = prepare(product_model(), options);
    REQUIRE(model.algorithm_count() == 2);
    Weights w;
    Weights v{0, 0};
    const std::vector<std::vector<Samples>> groups{
        {batches[0], batches[1]}, {batches[2]}, {batches[1], batches[2], batches[0]}};
    for (const auto& group : groups) {
      for (const Samples& batch : group) {
        const double before = number(model, "a");
        model.train_step(feeds_of(batch), 0);
        CHECK(number(model, "a") == before);
      }
      model.train_step({{"x", feeds_of(group[0])[0].second.tensor()}}, 1);
      Weights g = mean_gradient(group, w);
      const double norm = std::hypot(g.a, g.b);
      if (clip != 0 && norm > double{clip})
        g = {g.a * double{clip} / norm, g.b * double{clip} / norm};
      v = {0.5 * v.a + g.a, 0.5 * v.b + g.b};
      w = {w.a - 0.05 * v.a, w.b - 0.05 * v.b};
      check_weights(model, w);
    }
  }
}

TEST_CASE("sums of gradients are optimizer state, and inference files hold none of them") {
  Model model = prepare(
      product_model(),
      {.loss = Loss::mse, .optimizer = Adam{}, .average = WeightAverage{}, .accumulate = 3});
  std::vector<std::string> weights;
  for (const StateInfo& one : model.state()) {
    if (one.role == StateRole::weight) weights.push_back(one.name);
  }
  CHECK(weights == std::vector<std::string>{"a", "b"});
  CHECK(model.parameters().size() == 2);
  const Model exported = Model::load(model.export_inference());
  CHECK(exported.metadata().size() < model.metadata().size());
  for (const auto& [name, text] : exported.metadata()) {
    CHECK(name != "ondine.accumulate");
    CHECK_FALSE(name.starts_with("ondine.averag"));
  }
  CHECK(exported.inspect(Stage::model).find(".sum") == std::string::npos);
  const Model again = Model::load(model.export_training());
  CHECK(again.algorithm_count() == 2);
  CHECK(model.learning_rate(1) == 0.001F);
}

TEST_CASE("a bound on elements of gradients comes before the bound of their norm") {
  Model model = prepare(product_model(), {.loss = Loss::mse,
                                          .optimizer = Sgd{.learning_rate = 0.1F},
                                          .clip_norm = 0.25F,
                                          .init = WeightInit::keep,
                                          .clip_value = 0.5F});
  Weights w;
  for (int step = 0; step < 3; ++step) {
    model.train_step(feeds_of(batches[0]));
    Weights g = mean_gradient({batches[0]}, w);
    g = {std::clamp(g.a, -0.5, 0.5), std::clamp(g.b, -0.5, 0.5)};
    const double norm = std::hypot(g.a, g.b);
    const double scale = norm > 0.25 ? 0.25 / norm : 1;
    w = {w.a - 0.1 * scale * g.a, w.b - 0.1 * scale * g.b};
    check_weights(model, w);
  }
}

TEST_CASE("groups of parameters learn at their own rates, some from a step on") {
  for (const bool decoupled : {false, true}) {
    Optimizer optimizer = Sgd{.learning_rate = 0.1F};
    if (decoupled) optimizer = AdamW{.learning_rate = 0.1F, .weight_decay = 0.5F};
    Model model =
        prepare(product_model(), {.loss = Loss::mse,
                                  .optimizer = optimizer,
                                  .init = WeightInit::keep,
                                  .rate_groups = {{"*", 0.5F}, {"b", 0.25F}, {"b", 1, 2}}});
    Weights w;
    std::vector<double> mean(2, 0);
    std::vector<double> squares(2, 0);
    for (int step = 0; step < 4; ++step) {
      INFO("step " << step);
      model.train_step(feeds_of(batches[0]));
      const Weights g = mean_gradient({batches[0]}, w);
      const auto moved = [&](std::size_t i, double x, double d, double rate) {
        if (!decoupled) return x - rate * d;
        mean[i] = 0.9 * mean[i] + 0.1 * d;
        squares[i] = 0.999 * squares[i] + 0.001 * d * d;
        const double t = step + 1;
        const double corrected = rate * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
        return x - corrected * mean[i] / (std::sqrt(squares[i]) + 1e-8) - rate * 0.5 * x;
      };
      w = {moved(0, w.a, g.a, 0.05), moved(1, w.b, g.b, step < 2 ? 0 : 0.0125)};
      check_weights(model, w);
    }
  }
}

TEST_CASE("averages follow the parameters with their decay, or are means of all steps") {
  for (const double decay : {0.75, 1.0}) {
    for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{2}}) {
      INFO("decay " << decay << " from " << from);
      Model model =
          prepare(product_model(),
                  {.loss = Loss::mse,
                   .optimizer = Sgd{.learning_rate = 0.02F},
                   .init = WeightInit::keep,
                   .average = WeightAverage{.decay = static_cast<float>(decay), .from = from}});
      double average = 0;
      double sum = 0;
      for (std::uint64_t t = 1; t <= 7; ++t) {
        model.train_step(feeds_of(batches[t % 3]));
        const double a = number(model, "a");
        if (t <= from + 1) {
          average = a;
        } else {
          const double share = 1.0 / static_cast<double>(t - from);
          average += std::max(1 - decay, share) * (a - average);
        }
        if (t > from) sum += a;
      }
      if (decay == 1.0) CHECK(average == Approx(sum / static_cast<double>(7 - from)));
      const double trained = number(model, "a");
      CHECK(trained != Approx(average).epsilon(1e-4));
      take_averages(model);
      CHECK(number(model, "a") == Approx(average).epsilon(1e-5));
    }
  }
}

TEST_CASE("averages that do not exist, and options out of range, are refused by name") {
  Model model = prepare(product_model(), {.loss = Loss::mse});
  CHECK_THROWS_WITH(take_averages(model), Contains("keeps no averages"));
  const auto refuse = [](const PrepareOptions& options, const std::string& text) {
    CHECK_THROWS_WITH(prepare(product_model(), options), Contains(text));
  };
  refuse({.loss = Loss::mse, .clip_value = -1.0F}, "clipping value");
  refuse({.loss = Loss::mse, .rate_groups = {{"c*", 2}}}, "'c*' matches no trained parameter");
  refuse({.loss = Loss::mse, .rate_groups = {{"a", 0}}}, "must be positive");
  refuse({.loss = Loss::mse, .average = WeightAverage{.decay = 1.5F}}, "[0, 1]");
  refuse({.loss = Loss::mse, .average = WeightAverage{.decay = -0.5F}}, "[0, 1]");
  for (const float decay : {0.0F, 1.0F}) {
    CHECK_NOTHROW(
        prepare(product_model(), {.loss = Loss::mse, .average = WeightAverage{.decay = decay}}));
  }
  refuse({.loss = Loss::mse, .clip_norm = 0.0F}, "the clipping norm must be positive");
  refuse({.loss = Loss::mse, .clip_value = 0.0F}, "the clipping value must be positive");
  refuse({.loss = Loss::mse, .accumulate = 0}, "at least 1 batch");
}
