// Biases, other tensors and activations that a product adds and applies while it stores its results
// change speed, not results.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>

#include "core/message.h"
#include "tests/support/fusions_run.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

constexpr std::int64_t width = 256;
const NamedValues feeds{{"x", random_floats({2, 5, width}, 7)}};

PrepareOptions plain_training() {
  PrepareOptions options;
  options.init = WeightInit::keep;
  options.loss = Loss::mse;
  options.optimizer = Sgd{.learning_rate = 0.1F};
  return options;
}

// A frozen layer whose matrix is stored in int8, and two that are not, the second of which is
// transposed as PyTorch exports it, each with a bias.
std::filesystem::path save_layers(const TemporaryFolder& folder, bool trained) {
  ModelBuilder b("network");
  const auto x = b.input("x", DType::float32, {"N", 5, width});
  Tensor numbers(DType::int8, {width, width});
  int next = 0;
  for (std::int8_t& number : numbers.mutable_values<std::int8_t>()) {
    number = static_cast<std::int8_t>(next++ * 37 % 101 - 50);
  }
  const auto stored = b.initializer("stored", numbers);
  const auto scale = b.initializer("scale", Tensor::scalar(0.001F));
  const auto frozen = b.node("MatMul", {x, b.node("DequantizeLinear", {stored, scale})});
  const auto first = b.node("Add", {frozen, b.initializer("bias1", random_floats({width}, 2))});
  const auto up = b.initializer("up", random_floats({width, 3}, 3));
  const auto second = b.node("MatMul", {b.node("Tanh", {first}), up});
  const auto sum = b.node("Add", {b.initializer("bias2", random_floats({3}, 4)), second});
  const auto out = b.initializer("out", random_floats({4, 3}, 5));
  const auto third = b.node("MatMul", {b.node("Tanh", {sum}), b.node("Transpose", {out})});
  b.output(b.node("Add", {b.initializer("bias3", random_floats({4}, 6)), third}), DType::float32,
           {"N", 5, 4});
  auto file = folder / "network.onnx";
  b.save(file);
  if (!trained) return file;
  PrepareOptions options = plain_training();
  options.train = {"bias1", "up", "bias2", "out", "bias3"};
  prepare(file, file, options);
  return file;
}

LoadOptions unfused() { return {.no_fusion = {Fusion::fuse_activation}}; }

std::string optimized(const ModelBuilder& b, const TemporaryFolder& folder) {
  const auto file = folder / "model.onnx";
  b.save(file);
  return Model::load(file).inspect("optimized");
}

}  // namespace

TEST_CASE("products take biases, with the same bits") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = save_layers(folder, false);
  const Model fused = Model::load(file);
  const Model plain = Model::load(file, unfused());
  CHECK(holds(plain.inspect("optimized"), " Add-"));
  const std::string text = fused.inspect("optimized");
  INFO(text);
  CHECK_FALSE(holds(text, " Add-"));
  CHECK(holds(text, "DequantizeMatMul"));
  CHECK(holds(text, "MatMulT"));
  const Tensor y = fused.infer(feeds)[0].second.tensor();
  const Tensor wanted = plain.infer(feeds)[0].second.tensor();
  CHECK(y.shape() == wanted.shape());
  CHECK(std::equal(y.values<float>().begin(), y.values<float>().end(),
                   wanted.values<float>().begin()));
}

TEST_CASE("layers with biases train as before") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = save_layers(folder, true);
  Model fused = Model::load(file);
  Model plain = Model::load(file, unfused());
  NamedValues batch = feeds;
  batch.emplace_back("label", random_floats({2, 5, 4}, 8));
  CHECK(count(fused.inspect("optimized"), " Add-") + 3 ==
        count(plain.inspect("optimized"), " Add-"));
  for (int step = 0; step < 4; ++step) {
    CHECK(fused.train_step(batch)["loss"].tensor().item<float>() ==
          plain.train_step(batch)["loss"].tensor().item<float>());
  }
}

namespace {

// A layer with Relu around which its input passes, whose result three projections multiply, and
// their sum with it.
std::filesystem::path save_residual(const TemporaryFolder& folder) {
  ModelBuilder b("network");
  const auto x = b.input("x", DType::float32, {"N", 5, width});
  const auto weights = [&](const std::string& name, const Shape& shape, int seed) {
    return b.initializer(name, random_floats(shape, static_cast<std::uint64_t>(seed), -0.1F, 0.1F));
  };
  const auto up = b.node("MatMul", {x, weights("up", {width, width}, 1)});
  const auto hidden = b.node("Relu", {b.node("Add", {up, weights("bias", {width}, 2)})});
  const auto down = b.node("MatMul", {hidden, weights("down", {width, width}, 3)});
  const auto y = b.node("Add", {x, down});
  std::vector<std::string> parts{y};
  for (int i = 0; i < 3; ++i) {
    parts.push_back(b.node("MatMul", {y, weights(cat("part", i), {width, width}, 4 + i)}));
  }
  b.output(b.node("Sum", parts), DType::float32, {"N", 5, width});
  auto file = folder / "network.onnx";
  b.save(file);
  prepare(file, file, plain_training());
  return file;
}

}  // namespace

TEST_CASE("products add tensors of the shape of their results and apply Relu") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = save_residual(folder);
  Model fused = Model::load(file);
  Model plain = Model::load(file, unfused());
  const std::string text = fused.inspect("optimized");
  INFO(text);
  CHECK(count(plain.inspect("optimized"), " Relu-") == 1);
  CHECK(count(plain.inspect("optimized"), " Sum-") == 2);  // forward and backward
  CHECK(count(text, " Relu-") == 0);
  CHECK(count(text, " Sum-") == 0);
  CHECK(count(text, " Add-") == 1);  // the derivative of the loss
  NamedValues batch = feeds;
  batch.emplace_back("label", random_floats({2, 5, width}, 8));
  for (int step = 0; step < 4; ++step) {
    const float loss = fused.train_step(batch)["loss"].tensor().item<float>();
    CHECK(loss == Approx(plain.train_step(batch)["loss"].tensor().item<float>()).epsilon(1e-5));
  }
}

TEST_CASE("sums that are no biases stay") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto sum = [&](const Shape& left, const Shape& right, const Shape& addend, bool read) {
    ModelBuilder b("network");
    std::vector<ModelBuilder::Dim> dims(left.span().begin(), left.span().end());
    const auto x = b.input("x", DType::float32, dims);
    const auto product = b.node("MatMul", {x, b.initializer("w", random_floats(right, 1))});
    const auto y = b.node("Add", {product, b.initializer("b", random_floats(addend, 2))});
    dims.assign({"N", "M"});
    if (left.rank() + right.rank() < 4) dims.pop_back();
    b.output(read ? b.node("Mul", {y, product}) : y, DType::float32, dims);
    return holds(optimized(b, folder), " Add-");
  };
  CHECK_FALSE(sum({2, 3}, {3, 4}, {4}, false));
  CHECK_FALSE(sum({2, 3}, {3, 4}, {2, 4}, false));
  CHECK(sum({2, 3}, {3, 4}, {4}, true));   // something else reads the product
  CHECK(sum({2, 3}, {3, 4}, {1}, false));  // one number for all columns
  CHECK(sum({2, 3}, {3, 1}, {4}, false));  // the product is repeated
  CHECK(sum({3}, {3, 4}, {4}, false));     // no matrix
  CHECK(sum({4, 3}, {3}, {4}, false));
}

}  // namespace ondine::test
