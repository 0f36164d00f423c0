// Fusion in convolutional networks changes memory and speed, not results.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;

// Convolutions with normalization, bounds, a residual sum, a bias and a pointwise one.
class Network {
 public:
  explicit Network(const std::filesystem::path& file,
                   std::vector<std::string> trained = {"*.w", "*.b"}) {
    b_.initializer("zero", Tensor::scalar(0.0F));
    b_.initializer("six", Tensor::scalar(6.0F));
    const std::string x = b_.input("x", DType::float32, {"N", 3, 8, 8});
    const std::string stem = clip(normal(conv(x, "stem", 3, 8, 3), "stem.norm", 8));
    const std::string inner =
        b_.node("Relu", {normal(conv(stem, "inner", 8, 8, 3), "inner.norm", 8)});
    const std::string outer = normal(conv(inner, "outer", 8, 8, 1), "outer.norm", 8);
    const std::string sum = b_.node("Relu", {b_.node("Add", {outer, stem})});
    const std::string biased = b_.node("Relu", {conv(sum, "biased", 8, 8, 3, true)});
    const std::string flat = b_.node("Flatten", {b_.node("GlobalAveragePool", {biased})});
    const std::string hidden = b_.node(
        "Relu", {b_.node("Gemm", {flat, random("hidden.w", {8, 6}), random("hidden.b", {6})})});
    b_.output(b_.node("Gemm", {hidden, random("last.w", {6, 4}), random("last.b", {4})}),
              DType::float32, {"N", 4});
    b_.save(file);
    PrepareOptions options;
    options.train = std::move(trained);
    prepare(file, file, options);
  }

 private:
  std::string random(const std::string& name, const Shape& shape, float low = -0.5F,
                     float high = 0.5F) {
    return b_.initializer(name, random_floats(shape, ++seed_, low, high));
  }
  std::string conv(const std::string& x, const std::string& name, std::int64_t in, std::int64_t out,
                   std::int64_t kernel, bool bias = false) {
    std::vector<std::string> inputs{x, random(name + ".w", {out, in, kernel, kernel})};
    if (bias) inputs.push_back(random(name + ".b", {out}));
    return b_.node("Conv", inputs, {{"pads", Int64s(4, kernel / 2)}});
  }
  std::string normal(const std::string& x, const std::string& name, std::int64_t channels) {
    return b_.node(
        "BatchNormalization",
        {x, random(name + ".w", {channels}, 0.5F, 1.5F), random(name + ".b", {channels}),
         random(name + ".mean", {channels}), random(name + ".var", {channels}, 0.5F, 2)});
  }
  std::string clip(const std::string& x) { return b_.node("Clip", {x, "zero", "six"}); }

  ModelBuilder b_{"network"};
  std::uint64_t seed_ = 0;
};

// Blocks of a pointwise convolution, a normalization, an activation and a depthwise convolution, of
// stride 1, 2 and 3.
class DepthwiseNetwork {
 public:
  static constexpr std::int64_t size = 66;

  explicit DepthwiseNetwork(const std::filesystem::path& file) {
    b_.initializer("zero", Tensor::scalar(0.0F));
    b_.initializer("six", Tensor::scalar(6.0F));
    const std::string x = b_.input("x", DType::float32, {"N", 3, size, size});
    const std::string first = block(x, "first", 3, 1);
    const std::string second = block(first, "second", 5, 2);
    const std::string third = block(second, "third", 5, 3);
    const std::string last = b_.node("Relu", {normal(third, "last.norm")});
    const std::string flat = b_.node("Flatten", {b_.node("GlobalAveragePool", {last})});
    b_.output(b_.node("Gemm", {flat, random("last.w", {5, 4}), random("last.b", {4})}),
              DType::float32, {"N", 4});
    b_.save(file);
    PrepareOptions options;
    options.train = {"*.w", "*.b"};
    prepare(file, file, options);
  }

 private:
  std::string random(const std::string& name, const Shape& shape, float low = -0.5F,
                     float high = 0.5F) {
    return b_.initializer(name, random_floats(shape, ++seed_, low, high));
  }
  std::string normal(const std::string& x, const std::string& name) {
    return b_.node("BatchNormalization",
                   {x, random(name + ".w", {5}, 0.5F, 1.5F), random(name + ".b", {5}),
                    random(name + ".mean", {5}), random(name + ".var", {5}, 0.5F, 2)});
  }
  std::string block(const std::string& x, const std::string& name, std::int64_t in,
                    std::int64_t stride) {
    const std::string wide = b_.node("Conv", {x, random(name + ".wide.w", {5, in, 1, 1})});
    const std::string normalized = normal(wide, name + ".norm");
    const std::string z = stride == 3 ? b_.node("HardSwish", {normalized})
                                      : b_.node("Clip", {normalized, "zero", "six"});
    return b_.node(
        "Conv", {z, random(name + ".deep.w", {5, 1, 3, 3})},
        {{"group", std::int64_t{5}}, {"pads", Int64s(4, 1)}, {"strides", Int64s(2, stride)}});
  }

  ModelBuilder b_{"network"};
  std::uint64_t seed_ = 100;
};

NamedValues feeds(std::uint64_t seed, std::int64_t size = 8) {
  return {{"x", random_floats({4, 3, size, size}, seed)},
          {"label", Tensor::of<std::int64_t>({4}, {0, 1, 2, 3})}};
}

struct Trained {
  std::vector<float> parameters;
  std::vector<float> logits;
};

Trained trained(const std::filesystem::path& file, const LoadOptions& options,
                std::int64_t size = 8) {
  Model model = Model::load(file, options);
  for (std::uint64_t i = 0; i < 3; ++i) model.train_step(feeds(i, size));
  const NamedValues input{feeds(9, size)[0]};
  const NamedValues results = model.infer(input);
  const Tensor& last = results[0].second.tensor();
  const auto logits = last.values<float>();
  return {model.parameters(), {logits.begin(), logits.end()}};
}

void check_near(const std::vector<float>& got, const std::vector<float>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i] == Approx(want[i]).epsilon(1e-5).margin(1e-5));
  }
}

}  // namespace

TEST_CASE("convolutional networks train alike with each fusion left out") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  for (const bool frozen : {false, true}) {
    if (frozen) {
      Network(file, {"last.*"});
    } else {
      Network{file};
    }
    const Trained all_on = trained(file, {});
    auto names = fusion_names();
    names.emplace_back("all");
    for (const std::string& name : names) {
      INFO(name);
      LoadOptions options;
      options.no_fusion = fusions_from_name(name);
      const Trained without = trained(file, options);
      check_near(without.parameters, all_on.parameters);
      check_near(without.logits, all_on.logits);
    }
  }
}

TEST_CASE("networks of depthwise convolutions train alike whether these take normalizations") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  DepthwiseNetwork{file};
  if (fusions_run()) {
    LoadOptions options;
    options.no_fusion = {Fusion::fuse_pointwise_gradient};
    const std::string text = Model::load(file, options).inspect("optimized");
    CHECK(count(text, "ConvGrads-") == 3);
    CHECK(count(text, "BatchNormalizationActivationGrad-") == 1);
    CHECK(count(text, "NormalizedConv-") >= 3);
    CHECK(count(text, "HardSwish-") == 0);
  }
  // With the gradients apart, those by the weights normalize their input too.
  LoadOptions apart;
  apart.no_fusion = {Fusion::fuse_depthwise_gradient, Fusion::fuse_pointwise_gradient};
  if (fusions_run()) {
    CHECK(count(Model::load(file, apart).inspect("optimized"), "ConvGrads-") >= 3);
  }
  apart.no_fusion.push_back(Fusion::fuse_normalized_conv);
  const Trained want = trained(file, apart, DepthwiseNetwork::size);
  Trained last;
  for (const int threads : {1, 3}) {
    LoadOptions options;
    options.threads = threads;
    const Trained got = trained(file, options, DepthwiseNetwork::size);
    check_near(got.parameters, want.parameters);
    check_near(got.logits, want.logits);
    if (threads > 1) CHECK(got.parameters == last.parameters);
    last = got;
  }
}

TEST_CASE("activations and residual sums go into the normalization before them") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  Network{file};
  const std::string text = Model::load(file).inspect("optimized");
  // Inference and training.
  CHECK(count(text, "BatchNormalizationActivation-") == 6);
  CHECK(count(text, "BatchNormalizationActivationGrad-") == 2);
  CHECK(count(text, "ClipGrad") == 0);
  CHECK(count(text, "ConvActivation-") == 2);
  CHECK(count(text, "GemmActivation-") == 2);
}

TEST_CASE(
    "normalization by constants is folded into the convolution before it, within fold_bytes") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  Network{file, {"last.*"}};
  const auto normalizations = [&](const LoadOptions& options) {
    const std::string text = Model::load(file, options).inspect("optimized");
    return text.find("= BatchNormalization") != std::string::npos ||
           text.find("BatchNormalizationActivation") != std::string::npos;
  };
  CHECK_FALSE(normalizations({}));
  LoadOptions small;
  small.limits.fold_bytes = 16;
  CHECK(normalizations(small));
  LoadOptions without;
  without.no_fusion = {Fusion::fold_normalization};
  CHECK(normalizations(without));
}

TEST_CASE("recomputed normalized values have the same bits") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  Network{file};
  const Trained ample = trained(file, {});
  const Model model = Model::load(file);
  const PlanInfo plan = model.plan(feeds(0), 0, std::vector<std::string>{"loss"});
  LoadOptions options;
  options.memory_budget = (plan.arena_bytes + plan.constant_bytes + plan.state_bytes) * 9 / 10;
  const Trained lean = trained(file, options);
  CHECK(lean.parameters == ample.parameters);
  CHECK(lean.logits == ample.logits);
}

}  // namespace ondine::test
