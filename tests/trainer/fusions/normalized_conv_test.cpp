// Networks whose convolutions normalize their input themselves train as those in which
// the normalized values are stored.
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

constexpr std::int64_t size = 16;

// Normalization, an activation and a pointwise convolution: one that takes them, one that has a
// bias, one whose input is added to its result, one after a depthwise convolution, one of small
// planes; and a 3 x 3 convolution with stride 2.
void save_network(const std::filesystem::path& file, std::vector<std::string> trained) {
  ModelBuilder b("network");
  std::uint64_t seed = 0;
  const auto random = [&](const std::string& name, const Shape& shape, float low, float high) {
    return b.initializer(name, random_floats(shape, ++seed, low, high));
  };
  const auto conv = [&](const std::string& x, const std::string& name, std::int64_t in,
                        std::int64_t out, std::int64_t kernel, bool bias = false) {
    std::vector<std::string> inputs{x, random(name + ".w", {out, in, kernel, kernel}, -0.5F, 0.5F)};
    if (bias) inputs.push_back(random(name + ".b", {out}, -0.5F, 0.5F));
    return b.node("Conv", inputs, {{"pads", Int64s(4, kernel / 2)}});
  };
  const auto normal = [&](const std::string& x, const std::string& name, std::int64_t channels) {
    return b.node("BatchNormalization", {x, random(name + ".w", {channels}, 0.5F, 1.5F),
                                         random(name + ".b", {channels}, -0.5F, 0.5F),
                                         random(name + ".mean", {channels}, -0.5F, 0.5F),
                                         random(name + ".var", {channels}, 0.5F, 2)});
  };
  b.initializer("zero", Tensor::scalar(0.0F));
  b.initializer("six", Tensor::scalar(6.0F));
  const auto relu6 = [&](const std::string& x) { return b.node("Clip", {x, "zero", "six"}); };
  const std::string x = b.input("x", DType::float32, {"N", 3, size, size});
  const std::string stem = relu6(normal(conv(x, "stem", 3, 5, 3), "stem.norm", 5));
  const std::string first = normal(conv(stem, "first", 5, 6, 1), "first.norm", 6);
  const std::string biased = conv(b.node("Relu", {first}), "biased", 6, 6, 1, true);
  const std::string z = b.node("HardSwish", {normal(biased, "sum.norm", 6)});
  const std::string sum = b.node("Add", {conv(z, "sum", 6, 6, 1), z});
  const std::string deep = b.node(
      "Conv", {relu6(normal(sum, "deep.norm", 6)), random("deep.w", {6, 1, 3, 3}, -0.5F, 0.5F)},
      {{"group", std::int64_t{6}}, {"pads", Int64s(4, 1)}});
  const std::string after = conv(relu6(normal(deep, "after.norm", 6)), "after", 6, 6, 1);
  const std::string pooled =
      b.node("MaxPool", {after}, {{"kernel_shape", Int64s(2, 2)}, {"strides", Int64s(2, 2)}});
  const std::string wide = conv(pooled, "wide", 6, 6, 3);
  const std::string strided = b.node("Conv",
                                     {b.node("Relu", {normal(wide, "strided.norm", 6)}),
                                      random("strided.w", {6, 6, 3, 3}, -0.3F, 0.3F)},
                                     {{"pads", Int64s(4, 1)}, {"strides", Int64s(2, 2)}});
  const std::string small =
      conv(b.node("Relu", {normal(strided, "small.norm", 6)}), "small", 6, 8, 1);
  const std::string flat = b.node("Flatten", {b.node("GlobalAveragePool", {small})});
  b.output(b.node("Gemm", {flat, random("last.w", {8, 4}, -0.5F, 0.5F),
                           random("last.b", {4}, -0.5F, 0.5F)}),
           DType::float32, {"N", 4});
  b.save(file);
  PrepareOptions options;
  options.train = std::move(trained);
  prepare(file, file, options);
}

NamedValues feeds(std::uint64_t seed) {
  return {{"x", random_floats({4, 3, size, size}, seed)},
          {"label", Tensor::of<std::int64_t>({4}, {0, 1, 2, 3})}};
}

std::vector<float> trained(const std::filesystem::path& file, const LoadOptions& options) {
  Model model = Model::load(file, options);
  for (std::uint64_t i = 0; i < 4; ++i) model.train_step(feeds(i));
  std::vector<float> all;
  for (const StateInfo& info : model.state()) {
    if (info.dtype != DType::float32) continue;
    const Tensor value = model.get_state(info.name);
    all.insert(all.end(), value.values<float>().begin(), value.values<float>().end());
  }
  return all;
}

void check_near(const std::vector<float>& got, const std::vector<float>& want) {
  REQUIRE(got.size() == want.size());
  float worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - want[i]));
  CHECK(worst < 2e-5F);
}

}  // namespace

TEST_CASE("convolutions take the normalization that they alone read") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  save_network(file, {"*.w", "*.b"});
  const std::string text = Model::load(file).inspect("optimized");
  // Not of small planes that are pointwise, of which z is an addend, or that have a bias.
  CHECK(count(text, "NormalizedConv-") == 4);
  LoadOptions without;
  without.no_fusion = {Fusion::fuse_pointwise_gradient};
  // One of them takes the derivative of the normalization too.
  CHECK(count(Model::load(file, without).inspect("optimized"), "ConvGrads-") == 4);
  without.no_fusion.push_back(Fusion::fuse_normalized_conv);
  CHECK(count(Model::load(file, without).inspect("optimized"), "ConvGrads-") == 1);
  CHECK(count(Model::load(file, without).inspect("optimized"), "NormalizedConv") == 0);
  LoadOptions rounded;
  rounded.precision = Precision::bfloat16;
  CHECK(count(Model::load(file, rounded).inspect("optimized"), "NormalizedConv-") == 1);
}

TEST_CASE("networks train alike whether convolutions take the normalization or not") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"*.w", "*.b"}, {"*.norm.*", "last.*"}, {"first.w", "last.*"}}) {
    CAPTURE(names.size(), names.front());
    save_network(file, names);
    LoadOptions without;
    without.no_fusion = {Fusion::fuse_normalized_conv};
    const auto want = trained(file, without);
    std::vector<float> last;
    for (const int threads : {1, 3}) {
      LoadOptions options;
      options.threads = threads;
      const auto got = trained(file, options);
      check_near(got, want);
      if (threads > 1) CHECK(got == last);
      last = got;
    }
  }
}

}  // namespace ondine::test
