// Networks whose pointwise convolutions compute both derivatives together train as those in which
// two operators do.
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

// Pointwise convolutions: of more channels than they read, twice of one sum, of fewer channels, of
// planes that are too small; and one that reads what another does.
void save_network(const std::filesystem::path& file, std::vector<std::string> trained) {
  ModelBuilder b("network");
  std::uint64_t seed = 0;
  const auto random = [&](const std::string& name, const Shape& shape) {
    return b.initializer(name, random_floats(shape, ++seed, -0.5F, 0.5F));
  };
  const auto conv = [&](const std::string& x, const std::string& name, std::int64_t in,
                        std::int64_t out, std::int64_t kernel = 1) {
    return b.node("Conv", {x, random(name + ".w", {out, in, kernel, kernel})},
                  {{"pads", Int64s(4, kernel / 2)}});
  };
  const std::string x = b.input("x", DType::float32, {"N", 3, size, size});
  const std::string stem = b.node("Tanh", {conv(x, "stem", 3, 4, 3)});
  const std::string wide = b.node("Tanh", {conv(stem, "wide", 4, 9)});
  const std::string other = b.node("Tanh", {conv(stem, "other", 4, 9, 3)});
  const std::string sum =
      b.node("Tanh", {b.node("Add", {conv(wide, "left", 9, 9), conv(other, "right", 9, 9)})});
  const std::string narrow = b.node("Tanh", {conv(sum, "narrow", 9, 5)});
  const std::string pooled =
      b.node("MaxPool", {narrow}, {{"kernel_shape", Int64s(2, 2)}, {"strides", Int64s(2, 2)}});
  const std::string small = b.node("Tanh", {conv(pooled, "small", 5, 6)});
  const std::string flat = b.node("Flatten", {b.node("GlobalAveragePool", {small})});
  b.output(b.node("Gemm", {flat, random("last.w", {6, 4}), random("last.b", {4})}), DType::float32,
           {"N", 4});
  b.save(file);
  PrepareOptions options;
  options.train = std::move(trained);
  prepare(file, file, options);
}

std::vector<float> trained(const std::filesystem::path& file, const LoadOptions& options) {
  Model model = Model::load(file, options);
  for (std::uint64_t i = 0; i < 4; ++i) {
    model.train_step({{"x", random_floats({4, 3, size, size}, i)},
                      {"label", Tensor::of<std::int64_t>({4}, {0, 1, 2, 3})}});
  }
  return model.parameters();
}

std::size_t fused(const std::filesystem::path& file, const LoadOptions& options = {}) {
  return count(Model::load(file, options).inspect("optimized"), "ConvGrads-");
}

}  // namespace

TEST_CASE("both derivatives of a pointwise convolution of many channels are one operator") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  save_network(file, {"*.w", "*.b"});
  CHECK(fused(file) == 3);
  LoadOptions without;
  without.no_fusion = {Fusion::fuse_pointwise_gradient};
  CHECK(fused(file, without) == 0);
  LoadOptions rounded;
  rounded.precision = Precision::bfloat16;
  CHECK(fused(file, rounded) == 0);
  // Frozen weights have no derivative.
  save_network(file, {"stem.w", "left.w", "last.*"});
  CHECK(fused(file) == 1);
}

TEST_CASE("networks train alike whether the derivatives of pointwise convolutions are together") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"*.w", "*.b"}, {"stem.w", "left.w", "last.*"}}) {
    CAPTURE(names.size());
    save_network(file, names);
    LoadOptions without;
    without.no_fusion = {Fusion::fuse_pointwise_gradient};
    const auto want = trained(file, without);
    std::vector<float> last;
    for (const int threads : {1, 3}) {
      LoadOptions options;
      options.threads = threads;
      const auto got = trained(file, options);
      REQUIRE(got.size() == want.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(got[i] == Approx(want[i]).epsilon(1e-5).margin(1e-5));
      }
      if (threads > 1) CHECK(got == last);
      last = got;
    }
  }
}

}  // namespace ondine::test
