// The numbers of prepared updates and initial weights, computed again in double.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/models.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr double start = 0.75;
constexpr std::array<double, 3> xs{1, -2, 0.5};
constexpr std::array<double, 3> ts{2, 1, -1};

// y = x w; the mean squared error of y against ts has the gradient mean(2 (x w - t) x).
double gradient(double w) {
  double sum = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) sum += 2 * (xs[i] * w - ts[i]) * xs[i];
  return sum / 3;
}

// w after each of four steps of the prepared model.
std::array<double, 4> trained(const Optimizer& optimizer, std::optional<float> clip_norm = {}) {
  ModelBuilder b("line");
  b.input("x", DType::float32, {"N", 1});
  b.node("MatMul",
         {"x", b.initializer("w", Tensor::of<float>({1, 1}, {static_cast<float>(start)}))}, {},
         "y");
  b.output("y", DType::float32, {"N", 1});
  Model model = prepare(b.bytes(), {.loss = Loss::mse,
                                    .optimizer = optimizer,
                                    .clip_norm = clip_norm,
                                    .init = WeightInit::keep});
  std::array<double, 4> result{};
  for (double& w : result) {
    model.train_step({{"x", Tensor::of<float>({3, 1}, {1, -2, 0.5F})},
                      {"label", Tensor::of<float>({3, 1}, {2, 1, -1})}});
    w = double{model.get_state("w").item<float>()};
  }
  return result;
}

// step(t, w, g) with t from 1 gives the next w.
template <class Step>
void check(const std::array<double, 4>& got, Step step) {
  double w = start;
  for (std::size_t t = 0; t < got.size(); ++t) {
    w = step(static_cast<double>(t + 1), w, gradient(w));
    INFO("step " << t + 1);
    CHECK(got[t] == Approx(w).epsilon(1e-5));
  }
}

// Largest magnitude that a model draws for its only weight.
float largest_drawn(ModelBuilder& b, const std::string& output, WeightInit init) {
  b.output(output, DType::float32, {"N", "C", "P", "Q"});
  const Model model = prepare(b.bytes(), {.loss = Loss::mse, .output = output, .init = init});
  float largest = 0;
  const Tensor weights = model.get_state("w");
  for (const float w : weights.values<float>()) largest = std::max(largest, std::abs(w));
  return largest;
}

}  // namespace

TEST_CASE("prepared gradient descent takes the steps computed by hand, with and without decay") {
  check(trained(Sgd{.learning_rate = 0.1F}),
        [](double, double w, double g) { return w - 0.1 * g; });
  check(trained(Sgd{.learning_rate = 0.1F, .weight_decay = 0.5F}),
        [](double, double w, double g) { return w - 0.1 * (g + 0.5 * w); });
}

TEST_CASE("a gradient above the clipping norm is scaled to it") {
  check(trained(Sgd{.learning_rate = 0.1F}, 0.25F), [](double, double w, double g) {
    return w - 0.1 * (std::abs(g) > 0.25 ? std::copysign(0.25, g) : g);
  });
}

TEST_CASE("prepared momentum and Nesterov momentum take the steps computed by hand") {
  double v = 0;
  check(trained(Momentum{.learning_rate = 0.1F, .momentum = 0.5F, .weight_decay = 0.25F}),
        [&](double, double w, double g) {
          v = 0.5 * v + g + 0.25 * w;
          return w - 0.1 * v;
        });
  v = 0;
  check(trained(Nesterov{.learning_rate = 0.1F, .momentum = 0.5F, .weight_decay = 0.25F}),
        [&](double, double w, double g) {
          const double decayed = g + 0.25 * w;
          v = 0.5 * v + decayed;
          return w - 0.1 * (decayed + 0.5 * v);
        });
}

TEST_CASE("prepared Adagrad takes the steps computed by hand") {
  double h = 0;
  check(trained(Adagrad{.learning_rate = 0.1F, .epsilon = 0.01F, .weight_decay = 0.25F}),
        [&](double, double w, double g) {
          const double decayed = g + 0.25 * w;
          h += decayed * decayed;
          return w - 0.1 * decayed / (std::sqrt(h) + 0.01);
        });
}

TEST_CASE("prepared Adam corrects its bias from the first step on, and AdamW decays once") {
  for (const bool decoupled : {false, true}) {
    double v = 0;
    double h = 0;
    Optimizer optimizer = Adam{.learning_rate = 0.1F,
                               .beta1 = 0.5F,
                               .beta2 = 0.75F,
                               .epsilon = 0.01F,
                               .weight_decay = 0.25F};
    if (decoupled) {
      optimizer = AdamW{.learning_rate = 0.1F,
                        .beta1 = 0.5F,
                        .beta2 = 0.75F,
                        .epsilon = 0.01F,
                        .weight_decay = 0.25F};
    }
    check(trained(optimizer), [&](double t, double w, double g) {
      const double d = decoupled ? g : g + 0.25 * w;
      v = 0.5 * v + 0.5 * d;
      h = 0.75 * h + 0.25 * d * d;
      const double rate = 0.1 * std::sqrt(1 - std::pow(0.75, t)) / (1 - std::pow(0.5, t));
      const double next = w - rate * v / (std::sqrt(h) + 0.01);
      return decoupled ? next - 0.1 * 0.25 * w : next;
    });
  }
}

TEST_CASE("convolutions and transposed convolutions draw by the inputs of one output element") {
  // Bounds of he_uniform are sqrt(6 / fan in); 192 draws come close to them.
  ModelBuilder plain("conv");
  plain.input("x", DType::float32, {"N", 12, "H", "W"});
  plain.initializer("w", Tensor(DType::float32, {4, 12, 2, 2}));
  plain.node("Conv", {"x", "w"}, {}, "y");
  const float conv = largest_drawn(plain, "y", WeightInit::he_uniform);
  CHECK(conv <= std::sqrt(6.0F / 48));
  CHECK(conv > 0.9F * std::sqrt(6.0F / 48));
  ModelBuilder transposed("deconv");
  transposed.input("x", DType::float32, {"N", 4, "H", "W"});
  transposed.initializer("w", Tensor(DType::float32, {4, 12, 2, 2}));
  transposed.node("ConvTranspose", {"x", "w"}, {}, "y");
  const float deconv = largest_drawn(transposed, "y", WeightInit::he_uniform);
  CHECK(deconv <= std::sqrt(6.0F / 16));
  CHECK(deconv > 0.9F * std::sqrt(6.0F / 16));
}

TEST_CASE("the Dropout that is composed for old opsets keeps the mean") {
  ModelBuilder b("network", 9);
  b.input("x", DType::float32, {"N", 2000});
  const std::string scaled =
      b.node("Add", {"x", b.initializer("shift", Tensor(DType::float32, {2000}))});
  b.node("Dropout", {scaled}, {{"ratio", 0.75F}}, "y");
  b.output("y", DType::float32, {"N", 2000});
  Model model = prepare(b.bytes(), {.loss = Loss::mse});
  Tensor ones(DType::float32, {1, 2000});
  for (float& one : ones.mutable_values<float>()) one = 1;
  // A quarter of the elements is 4, the rest 0: the mean square is 4, within 5 deviations.
  const double loss =
      model.train_step({{"x", ones}, {"label", Tensor(DType::float32, {1, 2000})}}).scalar("loss");
  CHECK(std::abs(loss - 4) < 5 * 16 * std::sqrt(0.1875 / 2000));
}

TEST_CASE("a new value of another shape than its variable is an error before it is written") {
  graph::ModelDef def = linear_regression(0.1F);
  graph::GraphDef& step = *def.training[0].algorithm;
  step.nodes.push_back(node("Add", {"t", "t"}, {"u_new"}));
  step.initializers.push_back({"u", Tensor(DType::float32, {3, 1}), "", {}});
  step.outputs.push_back(tensor_value("u_new", DType::float32, {"N", std::int64_t{1}}));
  def.training[0].update_binding.emplace_back("u", "u_new");
  Model model = Model::load(encode(def));
  const auto feeds = [](std::int64_t n) {
    return NamedValues{{"x", Tensor(DType::float32, {n, 2})},
                       {"t", Tensor(DType::float32, {n, 1})}};
  };
  const Tensor w = model.get_state("w");
  CHECK_THROWS_WITH(model.train_step(feeds(2), 0, {"loss"}),
                    Catch::Contains("'u' of shape [3, 1]") && Catch::Contains("[2, 1]"));
  CHECK_THROWS_AS(model.train_step(feeds(4), 0, {"loss"}), Error);
  CHECK(model.get_state("w").identical(w));
  CHECK_NOTHROW(model.train_step(feeds(3), 0, {"loss"}));
}
