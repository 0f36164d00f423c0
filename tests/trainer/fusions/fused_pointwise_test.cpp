// Pointwise convolutions that go into the depthwise convolution of their result, and near misses.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>

#include "kernels/simd/isa.h"
#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;

struct Form {
  std::string activation = "Relu";
  std::int64_t size = 64;  // of the planes
  std::int64_t kernel = 3, stride = 1, pad = 1;
  std::int64_t first_kernel = 1, first_stride = 1;
  std::int64_t group = 40;
  bool read_twice = false;
  bool known_size = true;
  bool projects = false;  // to 24 channels, and back
};

// An inverted residual block of 40 channels and a classifier.
std::vector<std::byte> network(const Form& f) {
  ModelBuilder b("network");
  std::uint64_t seed = 0;
  const auto random = [&](const std::string& name, const Shape& shape) {
    return b.initializer(name, random_floats(shape, ++seed, -0.5F, 0.5F));
  };
  b.initializer("zero", Tensor::scalar(0.0F));
  b.initializer("six", Tensor::scalar(6.0F));
  const auto activated = [&](const std::string& x) {
    if (f.activation.empty()) return x;
    return f.activation == "Clip" ? b.node("Clip", {x, "zero", "six"}) : b.node(f.activation, {x});
  };
  const ModelBuilder::Dim size = f.known_size ? ModelBuilder::Dim(f.size) : ModelBuilder::Dim("S");
  const std::string x = b.input("x", DType::float32, {"N", 5, size, size});
  const std::string z = activated(
      b.node("Conv",
             {x, random("wide.w", {40, 5, f.first_kernel, f.first_kernel}), random("wide.b", {40})},
             {{"strides", Int64s(2, f.first_stride)}, {"pads", Int64s(4, f.first_kernel / 2)}}));
  std::string y = activated(b.node(
      "Conv", {z, random("deep.w", {40, 40 / f.group, f.kernel, f.kernel}), random("deep.b", {40})},
      {{"group", f.group}, {"strides", Int64s(2, f.stride)}, {"pads", Int64s(4, f.pad)}}));
  if (f.projects) {
    y = b.node("Conv", {y, random("narrow.w", {24, 40, 1, 1}), random("narrow.b", {24})});
    y = activated(b.node("Conv", {y, random("again.w", {40, 24, 1, 1}), random("again.b", {40})}));
  }
  y = b.node("GlobalAveragePool", {y});
  if (f.read_twice) y = b.node("Add", {y, b.node("GlobalAveragePool", {z})});
  b.output(b.node("Gemm", {b.node("Flatten", {y}), random("last.w", {40, 3})}), DType::float32,
           {"N", 3});
  return b.bytes();
}

NamedValues image(std::int64_t size) { return {{"x", random_floats({3, 5, size, size}, 9)}}; }

// Chains of convolutions of which one has these weights.
std::size_t fused(const Model& model, const std::string& weights = "deep.w") {
  std::istringstream text(model.inspect("optimized"));
  std::size_t found = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.find("ConvChain-") != line.npos && line.find(weights) != line.npos) ++found;
  }
  return found;
}

std::size_t fused_of(const Form& form) { return fused(Model::load(network(form))); }

LoadOptions without_fusion() {
  LoadOptions options;
  options.no_fusion = {Fusion::fuse_pointwise};
  return options;
}

}  // namespace

TEST_CASE("a pointwise convolution goes into the depthwise one that alone reads its large result") {
  for (const Form& form :
       {Form{}, Form{.activation = ""}, Form{.activation = "Clip"}, Form{.activation = "HardSwish"},
        Form{.stride = 2}, Form{.kernel = 5, .pad = 2}}) {
    CAPTURE(form.activation, form.stride, form.kernel);
    const std::vector<std::byte> bytes = network(form);
    if (fusions_run()) CHECK(fused(Model::load(bytes)) == 1);
    CHECK(fused(Model::load(bytes, without_fusion())) == 0);
    const Tensor want =
        Model::load(bytes, without_fusion()).infer(image(form.size))[0].second.tensor();
    Tensor last;
    for (const int threads : {1, 3}) {
      LoadOptions options;
      options.threads = threads;
      const Tensor got = Model::load(bytes, options).infer(image(form.size))[0].second.tensor();
      check_close(got, want, {1e-5, 1e-5});
      if (threads > 1) CHECK(got.identical(last));
      last = got;
    }
  }
}

TEST_CASE("pointwise convolutions that others read, small planes and other windows stay apart") {
  if (!fusions_run()) return;
  CHECK(fused_of({.read_twice = true}) == 0);
  CHECK(fused_of({.size = 32}) == 0);
  CHECK(fused_of({.known_size = false}) == 0);
  CHECK(fused_of({.activation = "Tanh"}) == 0);
  CHECK(fused_of({.kernel = 5, .stride = 2, .pad = 2}) == 0);
  CHECK(fused_of({.pad = 3}) == 0);
  CHECK(fused_of({.first_kernel = 3}) == 0);
  CHECK(fused_of({.size = 128, .first_stride = 2}) == 0);
  CHECK(fused_of({.group = 20}) == 0);
}

TEST_CASE("chains of three convolutions are one operator where products round their factors") {
  LoadOptions narrow;
  narrow.precision = Precision::bfloat16;
  LoadOptions apart = narrow;
  apart.no_fusion = {Fusion::fuse_pointwise};
  const std::size_t wanted =
      fusions_run() && &math::simd_tables(Precision::bfloat16) != &math::simd_tables() ? 1 : 0;
  for (const Form& form :
       {Form{.activation = "Clip", .projects = true}, Form{.size = 14, .projects = true},
        Form{.activation = "", .stride = 2, .projects = true},
        Form{.activation = "Relu", .size = 16, .known_size = false, .projects = true}}) {
    CAPTURE(form.activation, form.size, form.stride);
    const std::vector<std::byte> bytes = network(form);
    CHECK(fused(Model::load(bytes, narrow), "narrow.w") == wanted);
    CHECK(fused(Model::load(bytes), "narrow.w") == 0);
    const Tensor want = Model::load(bytes, apart).infer(image(form.size))[0].second.tensor();
    check_close(Model::load(bytes, narrow).infer(image(form.size))[0].second.tensor(), want,
                {1e-5, 1e-5});
  }
  const Form twice{.read_twice = true, .projects = true};
  CHECK(fused(Model::load(network(twice), narrow), "narrow.w") == wanted);
  const Form grouped{.group = 20, .projects = true};
  CHECK(fused(Model::load(network(grouped), narrow), "narrow.w") == 0);
}

TEST_CASE("a network whose frozen pointwise convolutions are fused trains as without fusion") {
  const std::vector<std::byte> bytes = network({.activation = "Clip"});
  PrepareOptions frozen;
  frozen.train = {"last.*"};
  const auto trained = [&](const LoadOptions& options) {
    Model model = prepare(bytes, frozen, options);
    // No derivative reads what lies between the convolutions.
    if (fusions_run()) CHECK(fused(model) == (options.no_fusion.empty() ? 1 : 0));
    NamedValues feeds = image(64);
    feeds.emplace_back("label", Tensor::of<std::int64_t>({3}, {0, 1, 2}));
    for (int i = 0; i < 3; ++i) model.train_step(feeds);
    return model.parameters();
  };
  const auto got = trained({}), want = trained(without_fusion());
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-5));
  PrepareOptions all;
  all.train = {"*"};
  CHECK(fused(prepare(bytes, all)) == 0);
}

}  // namespace ondine::test
