// Writes the network of this example: make_spam OUT.onnx
#include <iostream>
#include <stdexcept>

#include <ondine/build.h>

namespace {

using ondine::DType;
using ondine::ModelBuilder;
using ondine::Tensor;

constexpr std::int64_t ids = 256;  // bytes
constexpr std::int64_t embedding_size = 16;
constexpr std::int64_t channels = 48;
constexpr std::int64_t length = 512;
constexpr std::int64_t classes = 2;

// text [N, 512] -> embedding -> two convolutions -> the largest value of each channel -> 2 scores.
ModelBuilder make_network() {
  ModelBuilder builder("spam");
  using Integers = std::vector<std::int64_t>;
  const auto weight = [&](const std::string& name, const ondine::Shape& shape) {
    return builder.initializer(name, Tensor(DType::float32, shape));
  };
  const ModelBuilder::Attributes thirds{{"kernel_shape", Integers{3}}, {"strides", Integers{3}}};
  std::string x = builder.input("text", DType::int64, {"N", length});
  x = builder.node("Gather", {weight("embedding", {ids, embedding_size}), x});
  x = builder.node("Transpose", {x}, {{"perm", Integers{0, 2, 1}}});
  x = builder.node(
      "Conv", {x, weight("conv1.w", {channels, embedding_size, 5}), weight("conv1.b", {channels})});
  x = builder.node("MaxPool", {builder.node("Relu", {x})}, thirds);
  x = builder.node("Conv",
                   {x, weight("conv2.w", {channels, channels, 5}), weight("conv2.b", {channels})});
  x = builder.node("GlobalMaxPool", {builder.node("Relu", {x})});
  x = builder.node("Flatten", {x});
  builder.node("Gemm", {x, weight("head.w", {channels, classes}), weight("head.b", {classes})}, {},
               "scores");
  builder.output("scores", DType::float32, {"N", classes});
  return builder;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: make_spam OUT.onnx");
  make_network().save(argv[1]);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
