// Small models of four kinds train to a stated loss.
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"
#include "tests/system/run/model_writer.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

constexpr std::int64_t one = 1;

ValueDef floats(const std::string& name, std::vector<DimDef> dims) {
  return tensor_value(name, DType::float32, std::move(dims));
}

float scalar(const NamedValues& values) { return values[0].second.tensor().item<float>(); }

std::string mean(ModelWriter& w, GraphDef& graph, const std::string& x, std::string name = {}) {
  return w.op(graph, "ReduceMean", {x}, {{"keepdims", std::int64_t{0}}}, std::move(name));
}

std::string mean_square(ModelWriter& w, GraphDef& graph, const std::string& a, const std::string& b,
                        std::string name = {}) {
  const std::string d = w.op(graph, "Sub", {a, b});
  return mean(w, graph, w.op(graph, "Mul", {d, d}), std::move(name));
}

// tanh(x w1 + b1) w2 + b2
std::string perceptron(ModelWriter& w, GraphDef& graph, const std::string& x,
                       const std::vector<std::string>& weights, std::string name = {}) {
  const std::string h = w.op(graph, "Gemm", {x, weights[0], weights[1]});
  return w.op(graph, "Gemm", {w.op(graph, "Tanh", {h}), weights[2], weights[3]}, {},
              std::move(name));
}

std::vector<std::string> perceptron_weights(ModelWriter& w, const std::string& name,
                                            std::int64_t in, std::int64_t hidden) {
  return {w.weight(name + "_w1", {in, hidden}, 1.0F), w.weight(name + "_b1", {hidden}, 0.5F),
          w.weight(name + "_w2", {hidden, 1}, 0.5F), w.weight(name + "_b2", {1}, 0.1F)};
}

}  // namespace

TEST_CASE("a generator learns where the data lies from a discriminator that learns too") {
  ModelWriter w;
  const auto generator = perceptron_weights(w, "g", 1, 8);
  const auto discriminator = perceptron_weights(w, "d", 1, 16);
  w.main().inputs = {floats("z", {"N", one})};
  w.main().outputs = {floats("fake", {"N", one})};
  perceptron(w, w.main(), "z", generator, "fake");

  w.model().training.resize(2);
  TrainingInfoDef& judge = w.model().training[0];
  judge.algorithm.emplace();
  GraphDef& d_step = *judge.algorithm;
  d_step.inputs = {floats("real", {"N", one})};
  const std::string on_real = perceptron(w, d_step, "real", discriminator);
  const std::string on_fake = perceptron(w, d_step, "fake", discriminator);
  const std::string miss = w.op(d_step, "Softplus", {w.op(d_step, "Neg", {on_real})});
  const std::string fooled = w.op(d_step, "Softplus", {on_fake});
  mean(w, d_step, w.op(d_step, "Add", {miss, fooled}), "d_loss");
  w.adam(judge, "d_loss", discriminator, 0.01F, "d_");

  TrainingInfoDef& forge = w.model().training[1];
  forge.algorithm.emplace();
  GraphDef& g_step = *forge.algorithm;
  const std::string judged = perceptron(w, g_step, "fake", discriminator);
  mean(w, g_step, w.op(g_step, "Softplus", {w.op(g_step, "Neg", {judged})}), "g_loss");
  w.adam(forge, "g_loss", generator, 0.005F, "g_");

  Model model = Model::load(encode(w.model()));
  const auto noise = [](std::uint64_t seed) { return random_floats({32, 1}, seed, -1, 1); };
  const auto generated = [&] {
    const auto out = model.infer(NamedValues{{"z", noise(7)}});
    double sum = 0;
    for (const float x : out[0].second.tensor().values<float>()) sum += static_cast<double>(x);
    return sum / 32;
  };
  CHECK(std::abs(generated() - 2) > 1);
  // The two go around the equilibrium: the mean over many steps is close to it.
  float d_loss = 0;
  double sum = 0;
  constexpr std::uint64_t steps = 4000;
  for (std::uint64_t i = 0; i < steps; ++i) {
    const NamedValues real{{"z", noise(3 * i)},
                           {"real", random_floats({32, 1}, 3 * i + 1, 1.5F, 2.5F)}};
    d_loss = scalar(model.train_step(real, 0));
    model.train_step(NamedValues{{"z", noise(3 * i + 2)}}, 1);
    if (i >= steps / 2 && i % 20 == 0) sum += generated();
  }
  CHECK(sum * 40 / steps == Approx(2).margin(0.25));
  // Undecided: 2 log 2 = 1.386.
  CHECK(d_loss == Approx(1.386F).margin(0.25));
}

TEST_CASE("a gated recurrent unit written as a Loop learns the mean of a sequence") {
  constexpr std::int64_t steps = 6;
  constexpr std::int64_t hidden = 8;
  ModelWriter w;
  const std::vector<std::string> weights{w.weight("wz", {one, hidden}, 0.7F),
                                         w.weight("uz", {hidden, hidden}, 0.4F),
                                         w.weight("bz", {hidden}, 0.1F),
                                         w.weight("wr", {one, hidden}, 0.7F),
                                         w.weight("ur", {hidden, hidden}, 0.4F),
                                         w.weight("br", {hidden}, 0.1F),
                                         w.weight("wh", {one, hidden}, 0.7F),
                                         w.weight("uh", {hidden, hidden}, 0.4F),
                                         w.weight("bh", {hidden}, 0.1F),
                                         w.weight("wo", {hidden, one}, 0.4F),
                                         w.weight("bo", {one}, 0.1F)};
  GraphDef body;
  body.name = "cell";
  body.inputs = {tensor_value("i", DType::int64, {}), tensor_value("go_on", DType::boolean, {}),
                 floats("h", {"N", hidden})};
  const std::string x = w.op(body, "Gather", {"x", "i"});
  const auto gate = [&](const std::string& name, const std::string& state, const char* activation) {
    const std::string input = w.op(body, "Gemm", {x, "w" + name, "b" + name});
    const std::string sum = w.op(body, "Add", {input, w.op(body, "MatMul", {state, "u" + name})});
    return w.op(body, activation, {sum});
  };
  const std::string z = gate("z", "h", "Sigmoid");
  const std::string r = gate("r", "h", "Sigmoid");
  const std::string candidate = gate("h", w.op(body, "Mul", {r, "h"}), "Tanh");
  const std::string change = w.op(body, "Mul", {z, w.op(body, "Sub", {candidate, "h"})});
  w.op(body, "Add", {"h", change}, {}, "h_new");
  w.op(body, "Identity", {"go_on"}, {}, "go");
  body.outputs = {tensor_value("go", DType::boolean, {}), floats("h_new", {"N", hidden})};

  GraphDef& main = w.main();
  main.inputs = {floats("x", {steps, "N", one})};
  main.outputs = {floats("y", {"N", one})};
  w.constant(main, "steps", Tensor::scalar(steps));
  w.constant(main, "zero", Tensor::of<float>({1, hidden}, std::vector<float>(hidden)));
  const std::string first =
      w.op(main, "ReduceSum",
           {w.op(main, "Mul", {"x", w.constant(main, "none", Tensor::scalar(0.0F))}),
            w.constant(main, "axis", int64s({0}))},
           {{"keepdims", std::int64_t{0}}});
  const std::string start = w.op(main, "Add", {first, "zero"});
  main.nodes.push_back(node("Loop", {"steps", "", start}, {"last"},
                            {{"body", std::make_shared<const GraphDef>(body)}}));
  w.op(main, "Gemm", {"last", "wo", "bo"}, {}, "y");

  TrainingInfoDef& info = w.model().training.emplace_back();
  info.algorithm.emplace();
  info.algorithm->inputs = {floats("t", {"N", one})};
  mean_square(w, *info.algorithm, "y", "t", "loss");
  w.adam(info, "loss", weights, 0.02F);

  Model model = Model::load(encode(w.model()));
  float loss = 0;
  float at_first = 0;
  for (std::uint64_t i = 0; i < 250; ++i) {
    const Tensor sequence = random_floats({steps, 16, 1}, i, -1, 1);
    Tensor target(DType::float32, {16, 1});
    for (std::size_t k = 0; k < steps * 16; ++k) {
      target.mutable_values<float>()[k % 16] +=
          sequence.values<float>()[k] / static_cast<float>(steps);
    }
    loss = scalar(model.train_step(NamedValues{{"x", sequence}, {"t", target}}));
    if (i == 0) at_first = loss;
  }
  CHECK(at_first > 0.02F);
  CHECK(loss < 0.005F);
}

TEST_CASE("a function learns values and a slope of length one: a gradient penalty") {
  ModelWriter w;
  const auto weights = perceptron_weights(w, "f", 2, 16);
  w.main().inputs = {floats("x", {"N", std::int64_t{2}})};
  w.main().outputs = {floats("y", {"N", one})};
  perceptron(w, w.main(), "x", weights, "y");
  TrainingInfoDef& info = w.model().training.emplace_back();
  info.algorithm.emplace();
  GraphDef& step = *info.algorithm;
  step.inputs = {floats("t", {"N", one})};
  step.nodes.push_back(node("Gradient", {"x"}, {"slope"},
                            {{"xs", std::vector<std::string>{"x"}}, {"y", std::string("y")}},
                            "ai.onnx.preview.training"));
  const std::string length =
      w.op(step, "ReduceL2", {"slope", w.constant(step, "axes", int64s({1}))});
  const std::string penalty =
      mean_square(w, step, length, w.constant(step, "unit", Tensor::scalar(1.0F)), "penalty");
  w.op(step, "Add", {mean_square(w, step, "y", "t"), penalty}, {}, "loss");
  step.outputs = {floats("penalty", {})};
  w.adam(info, "loss", weights, 0.02F);

  Model model = Model::load(encode(w.model()));
  float loss = 0;
  float at_first = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Tensor x = random_floats({32, 2}, i, -1, 1);
    Tensor target(DType::float32, {32, 1});
    for (std::size_t k = 0; k < 32; ++k) {
      target.mutable_values<float>()[k] =
          0.6F * x.values<float>()[2 * k] + 0.8F * x.values<float>()[2 * k + 1];
    }
    loss = scalar(model.train_step(NamedValues{{"x", x}, {"t", target}}));
    if (i == 0) at_first = loss;
  }
  CHECK(at_first > 0.3F);
  CHECK(loss < 0.003F);
}

TEST_CASE("a decoder block learns to repeat what it read three tokens ago") {
  constexpr std::int64_t tokens = 8;
  constexpr std::int64_t length = 12;
  constexpr std::int64_t width = 32;
  ModelWriter w;
  GraphDef& main = w.main();
  std::vector<std::string> weights;
  const auto weight = [&](const std::string& name, const Shape& shape, float scale) {
    weights.push_back(w.weight(name, shape, scale));
    return name;
  };
  const auto norm = [&](const std::string& x, const std::string& name) {
    weight(name + "_bias", {width}, 0.1F);
    weight(name + "_scale", {width}, 1.0F);
    for (float& v : main.initializers.back().value.mutable_values<float>()) v = 1;
    return w.op(main, "LayerNormalization", {x, name + "_scale", name + "_bias"});
  };
  const auto linear = [&](const std::string& x, const std::string& name, std::int64_t in,
                          std::int64_t out) {
    return w.op(main, "MatMul", {x, weight(name, {in, out}, 0.25F)});
  };
  main.inputs = {tensor_value("token", DType::int64, {"N", length})};
  main.outputs = {floats("logits", {"N", tokens, length})};
  const std::string embedded =
      w.op(main, "Gather", {weight("embedding", {tokens, width}, 0.5F), "token"});
  const std::string h = w.op(main, "Add", {embedded, weight("place", {length, width}, 0.5F)});

  const std::string n1 = norm(h, "norm1");
  const std::string q = linear(n1, "q", width, width);
  const std::string k = linear(n1, "k", width, width);
  const std::string v = linear(n1, "v", width, width);
  const std::string kt =
      w.op(main, "Transpose", {k}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  const std::string root =
      w.constant(main, "root", Tensor::scalar(1.0F / std::sqrt(static_cast<float>(width))));
  Tensor causal(DType::float32, {length, length});
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t j = i + 1; j < length; ++j) {
      causal.mutable_values<float>()[i * length + j] = -1e9F;
    }
  }
  const std::string scores = w.op(main, "Mul", {w.op(main, "MatMul", {q, kt}), root});
  const std::string masked = w.op(main, "Add", {scores, w.constant(main, "causal", causal)});
  const std::string mixed = w.op(main, "MatMul", {w.op(main, "Softmax", {masked}), v});
  const std::string h2 = w.op(main, "Add", {h, linear(mixed, "o", width, width)});
  const std::string inner = linear(norm(h2, "norm2"), "up", width, 2 * width);
  const std::string gelu = w.op(main, "Relu", {inner});
  const std::string h3 = w.op(main, "Add", {h2, linear(gelu, "down", 2 * width, width)});
  const std::string rows = linear(norm(h3, "norm3"), "head", width, tokens);
  w.op(main, "Transpose", {rows}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}}, "logits");

  TrainingInfoDef& info = w.model().training.emplace_back();
  info.algorithm.emplace();
  info.algorithm->inputs = {tensor_value("next", DType::int64, {"N", length})};
  w.op(*info.algorithm, "SoftmaxCrossEntropyLoss", {"logits", "next"},
       {{"ignore_index", std::int64_t{-1}}}, "loss");
  w.adam(info, "loss", weights, 0.004F);

  Model model = Model::load(encode(w.model()));
  float loss = 0;
  float at_first = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    constexpr std::int64_t batch = 16;
    const Tensor seeds = random_floats({batch, 3}, i, 0, 7.999F);
    Tensor token(DType::int64, {batch, length});
    Tensor next(DType::int64, {batch, length});
    for (std::size_t at = 0; at < batch * length; ++at) {
      const std::size_t row = at / length;
      const std::size_t t = at % length;
      const auto drawn = [&](std::size_t position) {
        return static_cast<std::int64_t>(seeds.values<float>()[row * 3 + position % 3]);
      };
      token.mutable_values<std::int64_t>()[at] = drawn(t);
      next.mutable_values<std::int64_t>()[at] = t < 2 ? -1 : drawn(t + 1);
    }
    loss = scalar(model.train_step(NamedValues{{"token", token}, {"next", next}}));
    if (i == 0) at_first = loss;
  }
  CHECK(at_first > 1.5F);
  CHECK(loss < 0.05F);
}
