// A small convolutional network for 28 x 28 images, as a plain inference model.
#pragma once

#include <functional>
#include <string>

#include <ondine/build.h>

namespace example {

using ondine::DType;
using ondine::ModelBuilder;
using ondine::Shape;
using ondine::Tensor;

// Returns the initial value of each parameter.
using Parameter = std::function<Tensor(const std::string& name, const Shape& shape)>;

// Zeros: such a model gets its weights from Model::initialize() once it is prepared.
inline Tensor zeros(const std::string&, const Shape& shape) {
  return Tensor(DType::float32, shape);
}

inline constexpr std::int64_t feature_count = 128;

// image [N, 1, 28, 28] -> two convolutions with pooling -> 128 features -> `classes` logits.
inline ModelBuilder make_cnn(std::int64_t classes, const std::string& head,
                             const Parameter& parameter = zeros) {
  ModelBuilder builder("cnn");
  const auto weight = [&](const std::string& name, const Shape& shape) {
    return builder.initializer(name, parameter(name, shape));
  };
  const ModelBuilder::Attributes same{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  const ModelBuilder::Attributes halve{{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                                       {"strides", std::vector<std::int64_t>{2, 2}}};
  std::string x = builder.input("image", DType::float32, {"N", 1, 28, 28});
  x = builder.node("Conv", {x, weight("conv1.w", {16, 1, 3, 3}), weight("conv1.b", {16})}, same);
  x = builder.node("MaxPool", {builder.node("Relu", {x})}, halve);
  x = builder.node("Conv", {x, weight("conv2.w", {32, 16, 3, 3}), weight("conv2.b", {32})}, same);
  x = builder.node("MaxPool", {builder.node("Relu", {x})}, halve);
  x = builder.node("Flatten", {x});
  x = builder.node(
      "Gemm", {x, weight("fc.w", {32 * 7 * 7, feature_count}), weight("fc.b", {feature_count})});
  x = builder.node("Relu", {x});
  builder.node("Gemm",
               {x, weight(head + ".w", {feature_count, classes}), weight(head + ".b", {classes})},
               {}, "logits");
  builder.output("logits", DType::float32, {"N", classes});
  return builder;
}

}  // namespace example
