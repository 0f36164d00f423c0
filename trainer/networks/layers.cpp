#include "trainer/networks/layers.h"

#include <cmath>

#include "core/random/random.h"

namespace ondine::networks {
namespace {

using Integers = std::vector<std::int64_t>;

}  // namespace

std::string Layers::filled(const std::string& name, const Shape& shape, float value) {
  Tensor tensor(DType::float32, shape);
  for (float& one : tensor.mutable_values<float>()) one = value;
  return builder_.initializer(name, std::move(tensor));
}

std::string Layers::numbers(const std::string& name, const std::vector<float>& values,
                            const Shape& shape) {
  return builder_.initializer(name, Tensor::of(shape, values));
}

std::string Layers::uniform(const std::string& name, const Shape& shape, double bound) {
  Tensor tensor(DType::float32, shape);
  const RandomKey key{seed_, 0, stream_++};
  const auto values = tensor.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(bound * (2 * uniform_at(key, i) - 1));
  }
  return builder_.initializer(name, std::move(tensor));
}

std::string Layers::he(const std::string& name, const Shape& shape, std::int64_t fan_in) {
  return uniform(name, shape, std::sqrt(6 / static_cast<double>(fan_in)));
}

std::string Layers::linear(const std::string& x, const std::string& name, std::int64_t from,
                           std::int64_t to) {
  return builder_.node(
      "Gemm", {x, he(name + ".weight", {from, to}, from), filled(name + ".bias", {to}, 0)});
}

std::string Layers::scores(const std::string& x, const std::string& name, std::int64_t from,
                           std::int64_t to) {
  const double bound = 1 / std::sqrt(static_cast<double>(from));
  return builder_.node(
      "Gemm", {x, uniform(name + ".weight", {from, to}, bound), filled(name + ".bias", {to}, 0)});
}

std::string Layers::conv(const std::string& x, const std::string& name, const Conv& conv) {
  Shape shape{conv.to, conv.from};
  std::int64_t fan_in = conv.from;
  for (std::size_t i = 0; i < conv.axes; ++i) {
    shape.push_back(conv.kernel);
    fan_in *= conv.kernel;
  }
  const Integers pads(2 * conv.axes, conv.kernel / 2);
  const Integers strides(conv.axes, conv.stride);
  // The normalization has a bias.
  const std::string y = builder_.node("Conv", {x, he(name + ".weight", shape, fan_in)},
                                      {{"pads", pads}, {"strides", strides}});
  const std::string norm = name + ".norm";
  return relu(
      builder_.node("BatchNormalization",
                    {y, filled(norm + ".scale", {conv.to}, 1), filled(norm + ".bias", {conv.to}, 0),
                     filled(norm + ".mean", {conv.to}, 0), filled(norm + ".var", {conv.to}, 1)}));
}

std::string Layers::pool(const std::string& x) {
  return builder_.node("MaxPool", {x},
                       {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}});
}

std::string Layers::upsample(const std::string& x, const std::string& name, std::int64_t from,
                             std::int64_t to) {
  return builder_.node(
      "ConvTranspose",
      {x, he(name + ".weight", {from, to, 2, 2}, from), filled(name + ".bias", {to}, 0)},
      {{"strides", Integers{2, 2}}});
}

std::string Layers::pixel_scores(const std::string& x, const std::string& name, std::int64_t from,
                                 std::int64_t to) {
  const double bound = 1 / std::sqrt(static_cast<double>(from));
  return builder_.node("Conv", {x, uniform(name + ".weight", {to, from, 1, 1}, bound),
                                filled(name + ".bias", {to}, 0)});
}

std::string Layers::embedding(const std::string& ids, const std::string& name, std::int64_t rows,
                              std::int64_t width) {
  Tensor tensor(DType::float32, {rows, width});
  const RandomKey key{seed_, 0, stream_++};
  const auto values = tensor.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(normal_at(key, i));
  }
  return builder_.node("Gather", {builder_.initializer(name + ".weight", std::move(tensor)), ids});
}

}  // namespace ondine::networks
