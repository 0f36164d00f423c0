// Layers with initial weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/build.h>

namespace ondine::networks {

// Weights are He uniform and biases zeros, a pure function of seed, layer and position.
class Layers {
 public:
  Layers(const std::string& name, std::uint64_t seed) : builder_(name), seed_(seed) {}

  ModelBuilder& builder() noexcept { return builder_; }

  // [N, F] -> [N, outputs]
  std::string linear(const std::string& x, const std::string& name, std::int64_t from,
                     std::int64_t to);
  // The last layer: uniform in +-1 / sqrt(fan in).
  std::string scores(const std::string& x, const std::string& name, std::int64_t from,
                     std::int64_t to);
  // A convolution whose kernel has `kernel` positions along each of `axes` axes, padded to keep
  // sizes; then normalization of the batch and Relu.
  struct Conv {
    std::int64_t from = 1;
    std::int64_t to = 1;
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::size_t axes = 2;
  };
  std::string conv(const std::string& x, const std::string& name, const Conv& conv);
  std::string relu(const std::string& x) { return builder_.node("Relu", {x}); }
  // Halves height and width.
  std::string pool(const std::string& x);
  // Doubles height and width.
  std::string upsample(const std::string& x, const std::string& name, std::int64_t from,
                       std::int64_t to);
  // A 1x1 convolution without normalization.
  std::string pixel_scores(const std::string& x, const std::string& name, std::int64_t from,
                           std::int64_t to);
  // Rows that are looked up, from the standard normal distribution.
  std::string embedding(const std::string& ids, const std::string& name, std::int64_t rows,
                        std::int64_t width);

  std::string filled(const std::string& name, const Shape& shape, float value);
  std::string numbers(const std::string& name, const std::vector<float>& values,
                      const Shape& shape);

 private:
  std::string uniform(const std::string& name, const Shape& shape, double bound);
  std::string he(const std::string& name, const Shape& shape, std::int64_t fan_in);

  ModelBuilder builder_;
  std::uint64_t seed_;
  std::uint32_t stream_ = 0;
};

}  // namespace ondine::networks
