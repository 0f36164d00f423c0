#include "bench/models/layers.h"

#include <cmath>

namespace bench {

using Int64s = std::vector<std::int64_t>;

std::string Layers::uniform(const std::string& name, const Shape& shape, double bound) {
  Tensor tensor(DType::float32, shape);
  for (float& value : tensor.mutable_values<float>()) {
    seed_ = seed_ * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<float>((static_cast<double>(seed_ >> 11) * 0x1p-52 - 1) * bound);
  }
  return builder_.initializer(name, std::move(tensor));
}

std::string Layers::filled(const std::string& name, const Shape& shape, float value) {
  Tensor tensor(DType::float32, shape);
  for (float& element : tensor.mutable_values<float>()) element = value;
  return builder_.initializer(name, std::move(tensor));
}

std::string Layers::int64s(const std::string& name, const Int64s& values) {
  return builder_.initializer(name, Tensor::of({static_cast<std::int64_t>(values.size())}, values));
}

std::string Layers::linear(const std::string& x, const std::string& name, std::int64_t in,
                           std::int64_t out) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  return op("Gemm",
            {x, uniform(name + ".weight", {out, in}, bound), uniform(name + ".bias", {out}, bound)},
            {{"transB", std::int64_t{1}}});
}

std::string Layers::conv(const std::string& x, const std::string& name, std::int64_t in,
                         std::int64_t out, const Window& window) {
  const std::int64_t depth = in / window.groups;
  const double fan_in = static_cast<double>(depth * window.kernel * window.kernel);
  std::vector<std::string> inputs{
      x,
      uniform(name + ".weight", {out, depth, window.kernel, window.kernel}, std::sqrt(6 / fan_in))};
  if (window.bias) inputs.push_back(uniform(name + ".bias", {out}, 1 / std::sqrt(fan_in)));
  return op("Conv", std::move(inputs),
            {{"kernel_shape", Int64s{window.kernel, window.kernel}},
             {"strides", Int64s{window.stride, window.stride}},
             {"pads", Int64s(4, window.kernel / 2)},
             {"group", window.groups}});
}

std::string Layers::batch_norm(const std::string& x, const std::string& name,
                               std::int64_t channels) {
  return op(
      "BatchNormalization",
      {x, filled(name + ".weight", {channels}, 1), filled(name + ".bias", {channels}, 0),
       filled(name + ".running_mean", {channels}, 0), filled(name + ".running_var", {channels}, 1)},
      {{"momentum", 0.9F}});
}

std::string Layers::layer_norm(const std::string& x, const std::string& name, std::int64_t width) {
  return op("LayerNormalization",
            {x, filled(name + ".weight", {width}, 1), filled(name + ".bias", {width}, 0)},
            {{"axis", std::int64_t{-1}}});
}

std::string Layers::max_pool(const std::string& x, std::int64_t size) {
  return op("MaxPool", {x},
            {{"kernel_shape", Int64s{size, size}}, {"strides", Int64s{size, size}}});
}

}  // namespace bench
