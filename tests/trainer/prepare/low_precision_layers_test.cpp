// The gradients of layers in float16 and bfloat16 are those of float32, as far as their digits go.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "core/float_formats.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Ints = std::vector<std::int64_t>;

// The values rounded to one type, as elements of another that holds them.
Tensor in_type(const Tensor& values, DType rounded, DType dtype) {
  Tensor result(dtype, values.shape());
  for (std::size_t i = 0; i < values.values<float>().size(); ++i) {
    const float16 half = to_float16(values.values<float>()[i]);
    const bfloat16 brain = to_bfloat16(values.values<float>()[i]);
    if (dtype == DType::float16) result.mutable_values<float16>()[i] = half;
    if (dtype == DType::bfloat16) result.mutable_values<bfloat16>()[i] = brain;
    if (dtype != DType::float32) continue;
    result.mutable_values<float>()[i] =
        rounded == DType::float16 ? to_float(half) : to_float(brain);
  }
  return result;
}

struct Network {
  ModelBuilder b;
  DType rounded;
  DType dtype;
  std::vector<std::pair<std::string, Tensor>> weights = {};

  std::string weight(const Shape& shape, float low = -0.5F, float high = 0.5F) {
    const std::string name = "w" + std::to_string(weights.size());
    const Tensor value = random_floats(shape, 10 + weights.size(), low, high);
    weights.emplace_back(name, in_type(value, rounded, dtype));
    return b.initializer(name, weights.back().second);
  }
  std::string node(const std::string& op, std::vector<std::string> inputs,
                   ModelBuilder::Attributes attributes = {}) {
    return b.node(op, std::move(inputs), std::move(attributes));
  }
};

struct Layer {
  std::string name;
  Shape x;
  std::function<std::string(Network&)> write;
};

// Gradients: the amount that a step of SGD with rate 1 takes off each weight.
std::vector<double> gradients(const Layer& layer, DType rounded, DType dtype) {
  Network network{ModelBuilder("layer", 22), rounded, dtype};
  network.b.input("x", dtype, {layer.x.begin(), layer.x.end()});
  const std::string y = layer.write(network);
  const std::string flat = network.b.initializer("flat", Tensor::of<std::int64_t>({1}, {-1}));
  network.b.node("Reshape", {y, flat}, {}, "y");
  network.b.output("y", dtype, {"K"});
  Model model = prepare(network.b.bytes(), {.loss = Loss::mse,
                                            .optimizer = Sgd{.learning_rate = 1},
                                            .loss_scale = StaticLossScale{256},
                                            .train = {"w*"},
                                            .init = WeightInit::keep});
  const Tensor x = in_type(random_floats(layer.x, 1), rounded, dtype);
  const std::int64_t size = model.infer({{"x", x}})["y"].tensor().size();
  model.train_step({{"x", x}, {"label", random_floats({size}, 2)}});
  std::vector<double> result;
  for (const auto& [name, before] : network.weights) {
    const Tensor after = model.get_state(dtype == DType::float32 ? name : name + ".master");
    for (std::size_t i = 0; i < after.values<float>().size(); ++i) {
      const float start = dtype == DType::float32   ? before.values<float>()[i]
                          : dtype == DType::float16 ? to_float(before.values<float16>()[i])
                                                    : to_float(before.values<bfloat16>()[i]);
      result.push_back(double{start} - double{after.values<float>()[i]});
    }
  }
  return result;
}

std::string conv(Network& n, const std::string& op, const Shape& w, std::int64_t group) {
  return n.node(op, {"x", n.weight(w), n.weight({4})},
                {{"group", group}, {"pads", Ints{1, 1, 1, 1}}});
}

std::string recurrent(Network& n, const std::string& op, std::int64_t gates) {
  n.b.node(
      op, "",
      {"x", n.weight({1, gates * 4, 3}), n.weight({1, gates * 4, 4}), n.weight({1, gates * 8})},
      {"sequence"}, {{"hidden_size", std::int64_t{4}}});
  return "sequence";
}

// A product before `op`, which has no weights of its own.
std::string after_product(Network& n, const std::string& op,
                          const ModelBuilder::Attributes& attributes = {}) {
  return n.node(op, {n.node("MatMul", {"x", n.weight({3, 8})})}, attributes);
}

std::vector<Layer> layers() {
  const Shape images{2, 4, 5, 5};
  const Shape rows{5, 3};
  std::vector<Layer> all{
      {"Conv", images,
       [](Network& n) {
         return conv(n, "Conv", {4, 4, 3, 3}, 1);
       }},
      {"depthwise Conv", images,
       [](Network& n) {
         return conv(n, "Conv", {4, 1, 3, 3}, 4);
       }},
      {"1x1 Conv", images,
       [](Network& n) {
         return conv(n, "Conv", {4, 4, 1, 1}, 1);
       }},
      {"ConvTranspose", images,
       [](Network& n) {
         return conv(n, "ConvTranspose", {4, 4, 3, 3}, 1);
       }},
      {"LSTM", {4, 2, 3}, [](Network& n) { return recurrent(n, "LSTM", 4); }},
      {"GRU", {4, 2, 3}, [](Network& n) { return recurrent(n, "GRU", 3); }},
      {"RNN", {4, 2, 3}, [](Network& n) { return recurrent(n, "RNN", 1); }},
      {"Gemm", rows,
       [](Network& n) {
         return n.node("Gemm", {"x", n.weight({4, 3}), n.weight({4})},
                       {{"transB", std::int64_t{1}}});
       }},
      {"LayerNormalization", rows,
       [](Network& n) {
         return n.node("LayerNormalization", {"x", n.weight({3}, 0.5F, 1.5F), n.weight({3})});
       }},
      {"InstanceNormalization", images,
       [](Network& n) {
         return n.node("InstanceNormalization", {"x", n.weight({4}, 0.5F, 1.5F), n.weight({4})});
       }},
      {"BatchNormalization", images,
       [](Network& n) {
         const auto statistic = [&](const char* name, float value) {
           const Tensor full = Tensor::of<float>({4}, {value, value, value, value});
           return n.b.initializer(name, in_type(full, n.rounded, n.dtype));
         };
         return n.node("BatchNormalization", {"x", n.weight({4}, 0.5F, 1.5F), n.weight({4}),
                                              statistic("mean", 0), statistic("var", 1)});
       }},
      {"PRelu", rows,
       [](Network& n) {
         return n.node("PRelu", {"x", n.weight({3})});
       }},
      {"MatMul",
       {2, 5, 3},
       [](Network& n) {
         return n.node("MatMul", {"x", n.weight({3, 4})});
       }},
  };
  for (const std::string op : {"Relu", "LeakyRelu", "Elu", "Gelu", "Tanh", "Sigmoid", "Softplus",
                               "HardSwish", "Softmax", "LogSoftmax", "Erf"}) {
    all.push_back({op, rows, [op](Network& n) { return after_product(n, op); }});
  }
  for (const std::string op : {"MaxPool", "AveragePool", "GlobalAveragePool"}) {
    all.push_back({op, images, [op](Network& n) {
                     const std::string h = conv(n, "Conv", {4, 4, 3, 3}, 1);
                     if (op == "GlobalAveragePool") return n.node(op, {h});
                     return n.node(op, {h}, {{"kernel_shape", Ints{2, 2}}});
                   }});
  }
  return all;
}

}  // namespace

TEST_CASE("layers of low precision have the gradients of float32, rounded") {
  for (const Layer& layer : layers()) {
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
      INFO(layer.name << " in " << to_string(dtype));
      const std::vector<double> wanted = gradients(layer, dtype, DType::float32);
      const std::vector<double> found = gradients(layer, dtype, dtype);
      REQUIRE(found.size() == wanted.size());
      double largest = 0;
      double error = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        largest = std::max(largest, std::fabs(wanted[i]));
        error = std::max(error, std::fabs(found[i] - wanted[i]));
      }
      CHECK(largest > 1e-3);
      CHECK(error < (dtype == DType::float16 ? 0.01 : 0.05) * largest);
    }
  }
}
