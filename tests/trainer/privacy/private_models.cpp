#include "tests/trainer/privacy/private_models.h"

#include <ondine/build.h>

#include "tests/support/random_tensor.h"
#include "tests/support/tensors.h"

namespace ondine::test {
namespace {

constexpr DType real = DType::float64;

class Network {
 public:
  explicit Network(const char* name) : builder_(name, 17) {}

  std::string weight(const char* name, const Shape& shape) {
    const Tensor drawn = random_floats(shape, ++seed_, -0.7F, 0.7F);
    Tensor value(real, shape);
    const auto from = drawn.values<float>();
    std::copy(from.begin(), from.end(), value.mutable_values<double>().begin());
    return builder_.initializer(name, std::move(value));
  }
  std::string node(const char* op, std::vector<std::string> inputs,
                   ModelBuilder::Attributes attributes = {}) {
    return builder_.node(op, std::move(inputs), std::move(attributes));
  }
  ModelBuilder& builder() { return builder_; }
  std::vector<std::byte> finish(const std::string& logits) {
    builder_.node("Identity", {logits}, {}, "logits");
    builder_.output("logits", real, {"N", 3});
    return builder_.bytes();
  }

 private:
  ModelBuilder builder_;
  std::uint64_t seed_ = 0;
};

ModelBuilder::Attribute ints(std::vector<std::int64_t> values) { return values; }

}  // namespace

PrepareOptions plain_options() {
  return {.optimizer = Sgd{.learning_rate = 1}, .init = WeightInit::keep};
}

PrepareOptions private_options(float clip, float noise, std::uint64_t batch_size) {
  PrepareOptions options = plain_options();
  options.privacy = Privacy{clip, noise, batch_size};
  return options;
}

std::vector<std::byte> two_layers() {
  Network net("two_layers");
  const std::string x = net.builder().input("x", real, {"N", 5});
  const std::string hidden =
      net.node("Tanh", {net.node("Gemm", {x, net.weight("w1", {4, 5}), net.weight("b1", {4})},
                                 {{"transB", std::int64_t{1}}, {"alpha", 0.5F}, {"beta", 2.0F}})});
  const std::string product = net.node("MatMul", {hidden, net.weight("w2", {4, 3})});
  return net.finish(net.node("Add", {product, net.weight("b2", {3})}));
}

std::vector<std::byte> convolutions() {
  Network net("convolutions");
  const std::string x = net.builder().input("x", real, {"N", 2, 9, 8});
  const std::string first =
      net.node("Conv", {x, net.weight("k1", {4, 2, 3, 3}), net.weight("c1", {4})},
               {{"pads", ints({1, 1, 1, 1})}, {"strides", ints({2, 1})}});
  const std::string pooled =
      net.node("MaxPool", {net.node("Relu", {first})}, {{"kernel_shape", ints({2, 2})}});
  const std::string second = net.node("Conv", {pooled, net.weight("k2", {6, 2, 2, 3})},
                                      {{"group", std::int64_t{2}}, {"dilations", ints({1, 2})}});
  const std::string third =
      net.node("Conv", {net.node("Relu", {second}), net.weight("k3", {5, 6, 1, 1})});
  const std::string slope = net.weight("slope", {5, 1, 1});
  const std::string flat = net.node("Flatten", {net.node("PRelu", {third, slope})});
  return net.finish(net.node("Gemm", {flat, net.weight("w", {45, 3}), net.weight("b", {3})}));
}

std::vector<std::byte> attention_block() {
  Network net("attention_block");
  ModelBuilder& b = net.builder();
  const std::string ids = b.input("ids", DType::int64, {"N", 4});
  const std::string words = net.node("Gather", {net.weight("words", {7, 4}), ids});
  const std::string x = net.node("Add", {words, net.weight("places", {1, 4, 4})});
  const std::string normal =
      net.node("LayerNormalization", {x, net.weight("scale", {4}), net.weight("shift", {4})});
  const std::string q = net.node("MatMul", {normal, net.weight("q", {4, 4})});
  const std::string k = net.node("MatMul", {normal, net.weight("k", {4, 4})});
  const std::string v = net.node("MatMul", {normal, net.weight("v", {4, 4})});
  const std::string turned = net.node("Transpose", {k}, {{"perm", ints({0, 2, 1})}});
  const std::string seen = net.node("Softmax", {net.node("MatMul", {q, turned})});
  const std::string sum = net.node("Add", {x, net.node("MatMul", {seen, v})});
  const std::string rows = net.node("Reshape", {sum, b.initializer("flat", int64s({-1, 4}))});
  const std::string wide =
      net.node("Gemm", {rows, net.weight("up", {4, 9}), net.weight("up_bias", {9})});
  const std::string narrow = net.node("Mul", {net.node("Tanh", {wide}), net.weight("gain", {9})});
  const std::string again = net.node("Reshape", {narrow, b.initializer("parts", int64s({-1, 36}))});
  return net.finish(net.node("Gemm", {again, net.weight("w", {36, 3}), net.weight("b", {3})}));
}

}  // namespace ondine::test
