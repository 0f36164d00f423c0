#include <array>

#include "bench/models/workloads.h"

namespace bench {

ModelBuilder lenet() {
  Layers net("lenet", 2);
  std::string x = net.builder().input("x", DType::float32, {"N", 1, 28, 28});
  x = net.op("Relu", {net.conv(x, "conv1", 1, 8, {.kernel = 5, .bias = true})});
  x = net.max_pool(x, 2);
  x = net.op("Relu", {net.conv(x, "conv2", 8, 16, {.kernel = 5, .bias = true})});
  x = net.op("Flatten", {net.max_pool(x, 3)});
  net.builder().output(net.linear(x, "fc", 256, 10), DType::float32, {"N", 10});
  return std::move(net.builder());
}

namespace {

std::string conv_norm(Layers& net, const std::string& x, const std::string& name, std::int64_t in,
                      std::int64_t out, const Layers::Window& window) {
  return net.batch_norm(net.conv(x, name + ".conv", in, out, window), name + ".norm", out);
}

std::string relu6(Layers& net, const std::string& x) { return net.op("Clip", {x, "zero", "six"}); }

std::string inverted_residual(Layers& net, const std::string& input, const std::string& name,
                              std::int64_t in, std::int64_t out, std::int64_t stride,
                              std::int64_t expansion) {
  const std::int64_t hidden = in * expansion;
  std::string x = input;
  if (expansion != 1) x = relu6(net, conv_norm(net, x, name + ".expand", in, hidden, {}));
  x = relu6(net, conv_norm(net, x, name + ".depthwise", hidden, hidden,
                           {.kernel = 3, .stride = stride, .groups = hidden}));
  x = conv_norm(net, x, name + ".project", hidden, out, {});
  return stride == 1 && in == out ? net.op("Add", {input, x}) : x;
}

std::string basic_block(Layers& net, const std::string& input, const std::string& name,
                        std::int64_t in, std::int64_t out, std::int64_t stride) {
  std::string x = net.op(
      "Relu", {conv_norm(net, input, name + ".first", in, out, {.kernel = 3, .stride = stride})});
  x = conv_norm(net, x, name + ".second", out, out, {.kernel = 3});
  const std::string shortcut = stride == 1 && in == out ? input
                                                        : conv_norm(net, input, name + ".shortcut",
                                                                    in, out, {.stride = stride});
  return net.op("Relu", {net.op("Add", {x, shortcut})});
}

}  // namespace

ModelBuilder mobilenet_v2() {
  struct Stage {
    std::int64_t expansion, channels, repeats, stride;
  };
  constexpr std::array<Stage, 7> stages{{{1, 16, 1, 1},
                                         {6, 24, 2, 2},
                                         {6, 32, 3, 2},
                                         {6, 64, 4, 2},
                                         {6, 96, 3, 1},
                                         {6, 160, 3, 2},
                                         {6, 320, 1, 1}}};
  Layers net("mobilenet_v2", 3);
  std::string x = net.builder().input("x", DType::float32, {"N", 3, 224, 224});
  net.builder().initializer("zero", Tensor::scalar(0.0F));
  net.builder().initializer("six", Tensor::scalar(6.0F));
  x = relu6(net, conv_norm(net, x, "stem", 3, 32, {.kernel = 3, .stride = 2}));
  std::int64_t in = 32;
  int block = 0;
  for (const Stage& stage : stages) {
    for (std::int64_t i = 0; i < stage.repeats; ++i) {
      x = inverted_residual(net, x, "block" + std::to_string(block++), in, stage.channels,
                            i == 0 ? stage.stride : 1, stage.expansion);
      in = stage.channels;
    }
  }
  x = relu6(net, conv_norm(net, x, "head", in, 1280, {}));
  x = net.op("Flatten", {net.op("GlobalAveragePool", {x})});
  net.builder().output(net.linear(x, "classifier", 1280, 1000), DType::float32, {"N", 1000});
  return std::move(net.builder());
}

ModelBuilder resnet18() {
  Layers net("resnet18", 4);
  std::string x = net.builder().input("x", DType::float32, {"N", 3, 32, 32});
  x = net.op("Relu", {conv_norm(net, x, "stem", 3, 64, {.kernel = 3})});
  std::int64_t in = 64;
  int block = 0;
  for (const std::int64_t out : {64, 128, 256, 512}) {
    for (int i = 0; i < 2; ++i) {
      const std::int64_t stride = i == 0 && out != 64 ? 2 : 1;
      x = basic_block(net, x, "block" + std::to_string(block++), in, out, stride);
      in = out;
    }
  }
  x = net.op("Flatten", {net.op("GlobalAveragePool", {x})});
  net.builder().output(net.linear(x, "fc", 512, 10), DType::float32, {"N", 10});
  return std::move(net.builder());
}

}  // namespace bench
