// Composed forms that are recognized before derivatives are made change speed, not results.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;
constexpr std::int64_t steps = 5;
constexpr std::int64_t width = 8;

// Composed as exporters write it.
class Composer {
 public:
  explicit Composer(std::int64_t opset) : b_("network", opset), opset_(opset) {}

  ModelBuilder& builder() { return b_; }
  std::string number(double value) {
    return b_.initializer("number" + std::to_string(++seed_),
                          Tensor::scalar(static_cast<float>(value)));
  }
  std::string random(const Shape& shape, float low = -0.5F, float high = 0.5F) {
    const std::uint64_t seed = ++seed_;
    return b_.initializer("w" + std::to_string(seed), random_floats(shape, seed, low, high));
  }
  std::string op(const std::string& name, std::vector<std::string> inputs,
                 ModelBuilder::Attributes attributes = {}) {
    return b_.node(name, std::move(inputs), std::move(attributes));
  }
  std::string shape(const Int64s& dims) {
    return b_.initializer("shape" + std::to_string(++seed_),
                          Tensor::of<std::int64_t>({static_cast<std::int64_t>(dims.size())}, dims));
  }
  std::string mean(const std::string& x) {
    if (opset_ < 18) return op("ReduceMean", {x}, {{"axes", Int64s{-1}}});
    const std::string axes = "axes" + std::to_string(++seed_);
    b_.initializer(axes, Tensor::of<std::int64_t>({1}, {-1}));
    return op("ReduceMean", {x, axes});
  }
  std::string layer_norm(const std::string& x, bool by_product) {
    const std::string d = op("Sub", {x, mean(x)});
    const std::string square = by_product ? op("Mul", {d, d}) : op("Pow", {d, number(2)});
    const std::string root = op("Sqrt", {op("Add", {mean(square), number(1e-5)})});
    const std::string scaled = op("Mul", {random({width}, 0.5F, 1.5F), op("Div", {d, root})});
    return op("Add", {scaled, random({width})});
  }
  std::string linear(const std::string& x) {
    return op("Add", {op("MatMul", {x, random({width, width})}), random({width})});
  }
  std::string attention(const std::string& x, const std::string& mask) {
    const auto heads = [&](const Int64s& perm) {
      const std::string split = shape({0, 0, 2, 4});
      return op("Transpose", {op("Reshape", {linear(x), split})}, {{"perm", perm}});
    };
    std::string scores =
        op("Div", {op("MatMul", {heads({0, 2, 1, 3}), heads({0, 2, 3, 1})}), number(2)});
    if (!mask.empty()) scores = op("Add", {scores, mask});
    const std::string mixed =
        op("MatMul", {op("Softmax", {scores}, {{"axis", std::int64_t{-1}}}), heads({0, 2, 1, 3})});
    return op("Reshape",
              {op("Transpose", {mixed}, {{"perm", Int64s{0, 2, 1, 3}}}), shape({0, 0, 8})});
  }
  std::string gelu(const std::string& x) {
    const std::string erf = op("Erf", {op("Div", {x, number(std::sqrt(2.0))})});
    return op("Mul", {op("Mul", {x, op("Add", {erf, number(1)})}), number(0.5)});
  }
  std::string gelu_tanh(const std::string& x) {
    const std::string cube = op("Mul", {number(0.044715), op("Pow", {x, number(3)})});
    const std::string inner =
        op("Mul", {number(std::sqrt(2 / 3.14159265358979)), op("Add", {x, cube})});
    return op("Mul", {op("Mul", {number(0.5), x}), op("Add", {number(1), op("Tanh", {inner})})});
  }
  std::string swish(const std::string& x, double alpha) {
    const std::string scaled = alpha == 1 ? x : op("Mul", {number(alpha), x});
    return op("Mul", {x, op("Sigmoid", {scaled})});
  }

 private:
  ModelBuilder b_;
  std::int64_t opset_;
  std::uint64_t seed_ = 0;
};

void write_transformer(const std::filesystem::path& file, std::int64_t opset) {
  Composer c(opset);
  std::string x = c.builder().input("x", DType::float32, {"N", steps, width});
  Tensor mask(DType::float32, {1, 1, steps, steps});
  for (std::int64_t i = 0; i < steps * steps; ++i) {
    mask.mutable_values<float>()[static_cast<std::size_t>(i)] = i % steps > i / steps ? -1e9F : 0;
  }
  c.builder().initializer("mask", mask);
  x = c.layer_norm(c.op("Add", {x, c.attention(x, "mask")}), true);
  x = c.layer_norm(c.op("Add", {x, c.attention(x, "")}), false);
  x = c.linear(c.gelu(c.linear(x)));
  x = c.linear(c.gelu_tanh(c.linear(x)));
  x = c.linear(c.swish(c.swish(c.linear(x), 1), 1.702));
  x = c.op("MatMul", {c.op("Flatten", {x}), c.random({steps * width, 4})});
  const std::string logs = c.op("LogSoftmax", {x}, {{"axis", std::int64_t{1}}});
  const std::string target = c.builder().input("target", DType::int64, {"N"});
  c.builder().output(c.op("NegativeLogLikelihoodLoss", {logs, target},
                          {{"reduction", std::string("none")}, {"ignore_index", std::int64_t{2}}}),
                     DType::float32, {"N"});
  c.builder().save(file);
  PrepareOptions options;
  options.loss = Loss::mse;
  options.train = {"w*"};
  prepare(file, file, options);
}

std::vector<float> trained(const std::filesystem::path& file, const LoadOptions& options) {
  Model model = Model::load(file, options);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const NamedValues batch{{"x", random_floats({4, steps, width}, i)},
                            {"target", Tensor::of<std::int64_t>({4}, {0, 1, 2, 3})},
                            {"label", Tensor::of<float>({4}, {0, 0.5F, 1, 2})}};
    model.train_step(batch);
  }
  return model.parameters();
}

}  // namespace

TEST_CASE("transformers train alike with each recognition left out") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  for (const std::int64_t opset : {17, 20}) {
    write_transformer(file, opset);
    const auto all_on = trained(file, {});
    auto names = fusion_names();
    names.emplace_back("all");
    for (const std::string& name : names) {
      INFO(name << " opset " << opset);
      LoadOptions options;
      options.no_fusion = fusions_from_name(name);
      const auto got = trained(file, options);
      REQUIRE(got.size() == all_on.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(got[i] == Approx(all_on[i]).epsilon(1e-5).margin(1e-5));
      }
    }
  }
}

TEST_CASE("a layer whose first output is left out trains") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  ModelBuilder b("network", 17);
  b.input("x", DType::float32, {5, "N", 3});
  b.initializer("w", random_floats({1, 16, 3}, 1));
  b.initializer("r", random_floats({1, 16, 4}, 2));
  b.node("LSTM", "", {"x", "w", "r"}, {"", "h"}, {{"hidden_size", std::int64_t{4}}});
  b.node("Gemm", "",
         {b.node("Squeeze", {"h", b.initializer("axis", Tensor::of<std::int64_t>({1}, {0}))}),
          b.initializer("head", random_floats({4, 2}, 3))},
         {"y"});
  b.output("y", DType::float32, {"N", 2});
  b.save(file);
  PrepareOptions options;
  options.optimizer = Sgd{.learning_rate = 0.5F};
  prepare(file, file, options);
  auto model = Model::load(file);
  const NamedValues feeds{{"x", random_floats({5, 3, 3}, 4)},
                          {"label", Tensor::of<std::int64_t>({3}, {0, 1, 1})}};
  const float first = model.train_step(feeds)[0].second.tensor().item<float>();
  for (int step = 0; step < 10; ++step) model.train_step(feeds);
  CHECK(model.train_step(feeds)[0].second.tensor().item<float>() < 0.9F * first);
}

TEST_CASE("exporters' normalization, attention, Gelu, Swish and losses become operators") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  for (const std::int64_t opset : {17, 20}) {
    write_transformer(file, opset);
    const std::string text = Model::load(file).inspect("optimized");
    INFO(text);
    CHECK(count(text, "LayerNormalization-") == 2);
    CHECK(count(text, "LayerNormalizationGrad-") == 2);
    CHECK(count(text, "ScaledAttention-") == 2);
    CHECK(count(text, "ScaledAttentionGrad-") == 2);
    CHECK(count(text, "interleaved = 1") == 4);
    CHECK(count(text, " Transpose-") == 0);
    CHECK(count(text, "GeluGrad-") == 2);
    CHECK(count(text, "SwishGrad-") == 2);
    CHECK(count(text, "SoftmaxCrossEntropyLossGrad-") == 1);
    CHECK(count(text, "Erf") + count(text, "Tanh") + count(text, "Sigmoid") == 0);
    CHECK(count(text, "Sqrt") == 0);
  }
}

TEST_CASE("the standard's Attention keeps no scores, be it masked, causal or with shared heads") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  Tensor mask(DType::boolean, {6, 6});
  for (std::size_t i = 0; i < 36; ++i) mask.mutable_values<bool>()[i] = i % 6 != 2 && i / 6 != 1;
  for (const bool masked : {false, true}) {
    ModelBuilder b("attention", 23);
    const std::string x = b.input("x", DType::float32, {"N", 6, 16});
    const auto linear = [&](const std::string& name, std::int64_t features) {
      const auto w = b.initializer(name, random_floats({16, features}, name[1]));
      return b.node("MatMul", {x, w});
    };
    std::vector<std::string> inputs{linear("wq", 16), linear("wk", 8), linear("wv", 8)};
    if (masked) inputs.push_back(b.initializer("mask", mask));
    b.output(b.node("Attention", inputs,
                    {{"q_num_heads", std::int64_t{4}},
                     {"kv_num_heads", std::int64_t{2}},
                     {"is_causal", std::int64_t{1}}}),
             DType::float32, {"N", 6, 16});
    b.save(file);
    PrepareOptions options;
    options.loss = Loss::mse;
    prepare(file, file, options);
    Model model = Model::load(file);
    const std::string text = model.inspect("optimized");
    INFO(text);
    CHECK(count(text, "ScaledAttention-") == 1);
    CHECK(count(text, "ScaledAttentionGrad-") == 1);
    CHECK(count(text, "Softmax") == 0);
    const NamedValues batch{{"x", random_floats({3, 6, 16}, 1)},
                            {"label", random_floats({3, 6, 16}, 2)}};
    const auto loss = [&] { return model.train_step(batch)[0].second.tensor().item<float>(); };
    const float first = loss();
    for (int i = 0; i < 20; ++i) loss();
    CHECK(loss() < first);
  }
}

}  // namespace ondine::test
