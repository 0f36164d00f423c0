// Quantization-aware training: what the network computes, what becomes of the scales, and the
// integers that are exported.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include <ondine/build.h>
#include <ondine/error.h>
#include <ondine/prepare.h>

#include "proto/import.h"
#include "tests/support/op_harness.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// Conv, BatchNormalization, Relu, pool, Gemm.
std::vector<std::byte> network(std::int64_t opset = 17) {
  ModelBuilder b("network", opset);
  const auto weight = [&](const char* name, const Shape& shape, std::uint64_t seed, float low,
                          float high) {
    return b.initializer(name, random_floats(shape, seed, low, high));
  };
  const std::string x = b.input("x", DType::float32, {"N", 1, 8, 8});
  std::string y = b.node("Conv", {x, weight("conv.w", {6, 1, 3, 3}, 1, -0.6F, 0.6F)},
                         {{"pads", std::vector<std::int64_t>(4, 1)}});
  y = b.node("BatchNormalization",
             {y, weight("norm.w", {6}, 2, 0.5F, 1.5F), weight("norm.b", {6}, 3, -0.2F, 0.2F),
              weight("norm.mean", {6}, 4, -0.2F, 0.2F), weight("norm.var", {6}, 5, 0.5F, 1.5F)});
  y = b.node("MaxPool", {b.node("Relu", {y})},
             {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
              {"strides", std::vector<std::int64_t>{2, 2}}});
  y = b.node("Flatten", {y});
  b.output(b.node("Gemm",
                  {y, weight("fc.w", {4, 96}, 6, -0.2F, 0.2F), weight("fc.b", {4}, 7, -0.2F, 0.2F)},
                  {{"transB", 1L}}),
           DType::float32, {"N", 4});
  return b.bytes();
}

PrepareOptions options(bool aware, DType weights = DType::int8) {
  PrepareOptions options;
  options.init = WeightInit::keep;
  options.optimizer = Sgd{.learning_rate = 0.1F};
  if (aware) options.qat = weights;
  return options;
}

// Four classes: the quarter of the picture that is bright.
NamedValues batch(std::uint64_t seed) {
  Tensor x = random_floats({32, 1, 8, 8}, seed, -0.3F, 0.3F);
  Tensor label(DType::int64, {32});
  for (std::size_t n = 0; n < 32; ++n) {
    const std::size_t quarter = (n + seed) % 4;
    label.mutable_values<std::int64_t>()[n] = static_cast<std::int64_t>(quarter);
    for (std::size_t i = 0; i < 16; ++i) {
      const std::size_t row = quarter / 2 * 4 + i / 4;
      x.mutable_values<float>()[n * 64 + row * 8 + quarter % 2 * 4 + i % 4] += 1;
    }
  }
  return {{"x", x}, {"label", label}};
}

float step(Model& model, std::uint64_t seed) {
  return model.train_step(batch(seed))["loss"].tensor().item<float>();
}

std::vector<std::int64_t> classes(const Model& model, std::uint64_t seed) {
  const auto results = model.infer({{"x", batch(seed)[0].second}});
  const auto scores = results[0].second.tensor().values<float>();
  std::vector<std::int64_t> result;
  for (std::size_t n = 0; n < 32; ++n) {
    const auto row = scores.begin() + static_cast<std::ptrdiff_t>(n * 4);
    result.push_back(std::max_element(row, row + 4) - row);
  }
  return result;
}

float largest(const Tensor& tensor) {
  float found = 0;
  for (const float x : tensor.values<float>()) found = std::max(found, std::abs(x));
  return found;
}

}  // namespace

TEST_CASE("a network that rounds to 8 bits trains as the float network does") {
  PrepareReport report;
  Model aware = prepare(network(), options(true), {}, &report);
  Model floats = prepare(network(), options(false));
  CHECK(report.quantized_layers == 2);
  CHECK(report.trained == std::vector<std::string>{"conv.w", "norm.b", "fc.w", "fc.b"});
  const float first = step(aware, 0);
  step(floats, 0);
  for (std::uint64_t i = 1; i < 60; ++i) {
    step(aware, i);
    step(floats, i);
  }
  const float last = step(aware, 60);
  CHECK(last < 0.2F * first);
  CHECK(std::abs(last - step(floats, 60)) < 0.05F);
  const NamedValues last_batch = batch(99);
  const auto labels = last_batch[1].second.tensor().values<std::int64_t>();
  CHECK(std::vector<std::int64_t>(labels.begin(), labels.end()) == classes(aware, 99));
}

TEST_CASE("scales of activations fit the first batch and then move by a hundredth") {
  Model model = prepare(network(), options(true));
  const Tensor x = batch(0)[0].second.tensor();
  CHECK(model.get_state("x.scale").item<float>() == 8.0F / 127);
  step(model, 0);
  const double first = double{largest(x)} / 127;
  CHECK(double{model.get_state("x.scale").item<float>()} == Approx(first).epsilon(1e-6));
  step(model, 1);
  const double second = double{largest(batch(1)[0].second.tensor())} / 127;
  CHECK(double{model.get_state("x.scale").item<float>()} ==
        Approx(first + 0.01 * (second - first)).epsilon(1e-6));
}

TEST_CASE("scales of weights fit the largest weight of each channel after every step") {
  const DType type = GENERATE(DType::int8, DType::uint8);
  const float levels = type == DType::int8 ? 64.0F : 127.0F;
  Model model = prepare(network(), options(true, type));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto check = [&](const char* name, std::size_t channels) {
      const Tensor weight = model.get_state(name);
      const Tensor scale = model.get_state(std::string(name) + ".scale");
      REQUIRE(scale.size() == static_cast<std::int64_t>(channels));
      const std::size_t inner = static_cast<std::size_t>(weight.size()) / channels;
      for (std::size_t c = 0; c < channels; ++c) {
        float most = 0;
        for (std::size_t k = 0; k < inner; ++k) {
          most = std::max(most, std::abs(weight.values<float>()[c * inner + k]));
        }
        CHECK(scale.values<float>()[c] == most / levels);
      }
    };
    check("conv.w", 6);
    check("fc.w", 4);
    step(model, i);
  }
}

TEST_CASE("weights that initialize draws get scales that fit them") {
  PrepareOptions drawn = options(true);
  drawn.init = WeightInit::he_uniform;
  Model model = prepare(network(), drawn);
  const Tensor weight = model.get_state("fc.w");
  const Tensor row = Tensor::wrap(DType::float32, {96}, weight.data());
  CHECK_FALSE(weight.identical(prepare(network(), options(true)).get_state("fc.w")));
  CHECK(model.get_state("fc.w.scale").item<float>(0) == largest(row) / 64);
}

TEST_CASE("initialize draws the weights that it draws for the float network") {
  PrepareOptions drawn = options(true);
  PrepareOptions floats = options(false);
  drawn.init = floats.init = WeightInit::he_uniform;
  const Model aware = prepare(network(), drawn);
  const Model plain = prepare(network(), floats);
  for (const char* name : {"conv.w", "fc.w"}) {
    CHECK(aware.get_state(name).identical(plain.get_state(name)));
  }
}

TEST_CASE("normalization is folded: before any step the network is that of the file") {
  const Model plain = Model::load(network());
  const Model model = prepare(network(), options(true));
  const Tensor x = random_floats({5, 1, 8, 8}, 3);
  const Tensor want = plain.infer({{"x", x}})[0].second.tensor();
  const Tensor got = model.infer({{"x", x}})[0].second.tensor();
  // Rounded to steps of 8 / 127 and 8 / 255 at most.
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(std::abs(want.values<float>()[i] - got.values<float>()[i]) < 0.15F);
  }
  CHECK(model.inspect("graph").find("BatchNormalization-") == std::string::npos);
}

TEST_CASE("normalizations that share their shift are folded each into a bias of its own") {
  ModelBuilder b("network", 17);
  const auto weight = [&](const std::string& name, const Shape& shape, std::uint64_t seed,
                          float low, float high) {
    return b.initializer(name, random_floats(shape, seed, low, high));
  };
  const std::string shift = weight("shift", {2}, 1, -0.5F, 0.5F);
  std::string y = b.input("x", DType::float32, {"N", 2, 4, 4});
  for (const std::uint64_t i : {10, 20}) {
    const std::string name = "layer" + std::to_string(i);
    y = b.node("Conv", {y, weight(name + ".w", {2, 2, 1, 1}, i, -0.6F, 0.6F)});
    y = b.node("BatchNormalization", {y, weight(name + ".scale", {2}, i + 1, 0.5F, 1.5F), shift,
                                      weight(name + ".mean", {2}, i + 2, -0.5F, 0.5F),
                                      weight(name + ".var", {2}, i + 3, 0.5F, 1.5F)});
  }
  b.output(b.node("Flatten", {y}), DType::float32, {"N", 32});
  const Tensor x = random_floats({3, 2, 4, 4}, 3);
  PrepareOptions how = options(true);
  how.loss = Loss::mse;
  const Tensor want = Model::load(b.bytes()).infer({{"x", x}})[0].second.tensor();
  const Tensor got = prepare(b.bytes(), how).infer({{"x", x}})[0].second.tensor();
  check_close(got, want, {0, 0.1});
}

TEST_CASE("the exported model holds integers and decides as the trained one") {
  Model model = prepare(network(), options(true, GENERATE(DType::int8, DType::uint8)));
  for (std::uint64_t i = 0; i < 40; ++i) step(model, i);
  const Model exported = Model::load(model.export_inference());
  const std::string text = exported.inspect("model");
  CHECK(text.find("conv.w.quantized") != std::string::npos);
  CHECK(text.find("fc.b.quantized") != std::string::npos);
  for (std::uint64_t i = 100; i < 105; ++i) CHECK(classes(exported, i) == classes(model, i));
}

TEST_CASE("exported weights are small enough for sums of two products in 16 bits, or not signed") {
  const auto weights_of = [](DType type) {
    Model model = prepare(network(), options(true, type));
    for (std::uint64_t i = 0; i < 10; ++i) step(model, i);
    const graph::ModelDef def = load_model(model.export_inference());
    const auto& all = def.graph.initializers;
    const auto value = [&](const std::string& name) {
      return std::ranges::find(all, name, &graph::InitializerDef::name)->value;
    };
    return std::pair(value("fc.w.quantized"), value("fc.w.zero_point"));
  };
  const auto [small, zero] = weights_of(DType::int8);
  int most = 0;
  for (const std::int8_t w : small.values<std::int8_t>()) most = std::max(most, std::abs(int{w}));
  CHECK(most == 64);
  CHECK(zero.item<std::int8_t>() == 0);
  const auto [whole, middle] = weights_of(DType::uint8);
  most = 0;
  for (const std::uint8_t w : whole.values<std::uint8_t>()) {
    most = std::max(most, std::abs(int{w} - 128));
  }
  CHECK(most == 127);
  for (const std::uint8_t one : middle.values<std::uint8_t>()) CHECK(one == 128);
}

TEST_CASE("exported layers round where their results are made, in front of pooling and reshaping") {
  Model model = prepare(network(), options(true));
  for (std::uint64_t i = 0; i < 10; ++i) step(model, i);
  const graph::ModelDef def = load_model(model.export_inference());
  std::vector<std::string> ops;
  for (const graph::NodeDef& node : def.graph.nodes) {
    const bool of_weights =
        node.op == "DequantizeLinear" && node.inputs[0].find("w") != std::string::npos;
    const bool of_bias = node.inputs[0].find(".b.") != std::string::npos;
    if (!of_weights && !of_bias) ops.push_back(node.op);
    // Layers read their bias as the integers that products add up.
    if (node.op == "Conv" || node.op == "Gemm") {
      CHECK_THAT(node.inputs.at(2), Catch::EndsWith(".dequantized"));
    }
  }
  const std::vector<std::string> want{"QuantizeLinear", "DequantizeLinear", "Conv",
                                      "Relu",           "QuantizeLinear",   "MaxPool",
                                      "Flatten",        "DequantizeLinear", "Gemm"};
  CHECK(ops == want);
  const Model exported = Model::load(model.export_inference());
  CHECK(classes(exported, 77) == classes(model, 77));
  if (std::getenv("ONDINE_NO_FUSION") == nullptr) {
    const std::string plan = to_string(exported.plan_report({{{"x", {32, 1, 8, 8}}}, {}}));
    CHECK(plan.find("Int8Conv") != std::string::npos);
  }
}

TEST_CASE("accumulated gradients update scales with the weights") {
  PrepareOptions twice = options(true);
  twice.accumulate = 2;
  Model model = prepare(network(), twice);
  const Tensor before = model.get_state("fc.w.scale");
  model.train_step(batch(0), 0);
  CHECK(model.get_state("fc.w.scale").identical(before));
  model.train_step({{"x", batch(0)[0].second}}, 1);
  const Tensor weight = model.get_state("fc.w");
  const Tensor row = Tensor::wrap(DType::float32, {96}, weight.data());
  CHECK(model.get_state("fc.w.scale").item<float>(0) == largest(row) / 64);
}

TEST_CASE("quantization-aware training says what it cannot do") {
  CHECK_THROWS_WITH(prepare(network(12), options(true)),
                    Catch::Contains("needs ai.onnx 13, the model imports ai.onnx 12"));
  PrepareOptions wrong = options(true);
  wrong.qat = DType::int4;
  CHECK_THROWS_WITH(prepare(network(), wrong),
                    Catch::Contains("qat is int4, needed: int8 or uint8"));
  wrong = options(true);
  wrong.training_mode = false;
  CHECK_THROWS_WITH(prepare(network(), wrong), Catch::Contains("training mode"));
  ModelBuilder b("plain");
  const std::string w = b.initializer("w", random_floats({4}, 1));
  b.output(b.node("Mul", {b.input("x", DType::float32, {"N", 4}), w}), DType::float32, {"N", 4});
  PrepareOptions mse = options(true);
  mse.loss = Loss::mse;
  CHECK_THROWS_WITH(prepare(b.bytes(), mse), Catch::Contains("no Conv, Gemm or MatMul"));
}
