// Layers whose input has a rank that only a call tells are trained like any others.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// y = conv(reshape(x)), through a shape that is fed or known.
std::vector<std::byte> network(const std::string& op, bool fed, bool fed_weight) {
  ModelBuilder b("network", 17);
  const std::string x = b.input("x", DType::float32, {"N", 12});
  const auto shape_of = [&](const std::string& name, std::vector<std::int64_t> dims) {
    if (fed) return b.input(name, DType::int64, {name + ".rank"});
    const auto rank = static_cast<std::int64_t>(dims.size());
    return b.initializer(name, Tensor::of<std::int64_t>({rank}, dims));
  };
  b.node("Reshape", {x, shape_of("shape", {-1, 2, 6})}, {}, "image");
  const std::string flat = b.initializer("w", random_floats({12}, 1));
  const std::string bias = b.initializer("b", random_floats({2}, 2));
  if (fed_weight) {
    b.node("Reshape", {flat, shape_of("shape_w", {2, 2, 3})}, {}, "kernel");
  } else {
    const Tensor dims = Tensor::of<std::int64_t>({3}, {2, 2, 3});
    b.node("Reshape", {flat, b.initializer("kernel_shape", dims)}, {}, "kernel");
  }
  b.node(op, {"image", "kernel", bias}, {}, "h");
  b.node("Flatten", {"h"}, {}, "y");
  b.output("y", DType::float32, {"N", "K"});
  return b.bytes();
}

std::vector<float> trained(const std::string& op, bool fed, bool fed_weight) {
  const std::vector<std::byte> bytes = network(op, fed, fed_weight);
  const std::int64_t size = op == "Conv" ? 8 : 16;
  Model model = prepare(bytes, {.loss = Loss::mse, .optimizer = Sgd{.learning_rate = 0.5F}});
  NamedValues batch{{"x", random_floats({3, 12}, 3)}, {"label", random_floats({3, size}, 4)}};
  if (fed) batch.emplace_back("shape", Tensor::of<std::int64_t>({3}, {-1, 2, 6}));
  if (fed && fed_weight) batch.emplace_back("shape_w", Tensor::of<std::int64_t>({3}, {2, 2, 3}));
  for (int i = 0; i < 3; ++i) model.train_step(batch);
  return model.parameters();
}

}  // namespace

TEST_CASE("a convolution of unknown rank trains its bias") {
  for (const std::string op : {"Conv", "ConvTranspose"}) {
    for (const bool fed_weight : {false, true}) {
      INFO(op << (fed_weight ? ", weight of unknown rank" : ""));
      const auto wanted = trained(op, false, fed_weight);
      const auto found = trained(op, true, fed_weight);
      REQUIRE(found.size() == wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(found[i] == Approx(wanted[i]));
    }
  }
}
