// Layers in the vocabulary of ModelBuilder, with weights drawn from a fixed sequence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/build.h>

namespace bench {

using ondine::DType;
using ondine::ModelBuilder;
using ondine::Shape;
using ondine::Tensor;

// Every value is the name of a tensor. Parameters of a layer called "fc" are "fc.weight", ...
class Layers {
 public:
  Layers(std::string model_name, std::uint64_t seed, std::int64_t opset = 17)
      : builder_(std::move(model_name), opset), seed_(seed) {}

  ModelBuilder& builder() noexcept { return builder_; }
  std::string op(const std::string& name, std::vector<std::string> inputs,
                 ModelBuilder::Attributes attributes = {}) {
    return builder_.node(name, std::move(inputs), std::move(attributes));
  }

  // Uniform in +- bound.
  std::string uniform(const std::string& name, const Shape& shape, double bound);
  std::string filled(const std::string& name, const Shape& shape, float value);
  std::string int64s(const std::string& name, const std::vector<std::int64_t>& values);

  // x [N, in] -> [N, out]; weight [out, in].
  std::string linear(const std::string& x, const std::string& name, std::int64_t in,
                     std::int64_t out);
  struct Window {
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t groups = 1;
    bool bias = false;
  };
  // Padded by kernel / 2.
  std::string conv(const std::string& x, const std::string& name, std::int64_t in, std::int64_t out,
                   const Window& window);
  std::string batch_norm(const std::string& x, const std::string& name, std::int64_t channels);
  std::string layer_norm(const std::string& x, const std::string& name, std::int64_t width);
  std::string max_pool(const std::string& x, std::int64_t size);

 private:
  ModelBuilder builder_;
  std::uint64_t seed_;
};

}  // namespace bench
