// A network for the tests of adapters.
#pragma once

#include <cmath>
#include <vector>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"

namespace ondine::test {

// A product of [N, 3, 8], a Gemm with a transposed weight and a factor, and the last layer.
inline std::vector<std::byte> three_layers(DType dtype = DType::float32, std::int64_t opset = 17) {
  ModelBuilder b("network", opset);
  const auto weight = [&](const char* name, const Shape& shape, std::uint64_t seed) {
    return b.initializer(name, dtype == DType::float64 ? random_tensor(shape, seed)
                                                       : random_floats(shape, seed, -0.5F, 0.5F));
  };
  std::string x = b.input("x", dtype, {"N", 3, 8});
  x = b.node("Tanh", {b.node("MatMul", {x, weight("body.fc1.weight", {8, 12}, 1)})});
  x = b.node("Flatten", {x});
  x = b.node("Gemm", {x, weight("body.fc2.weight", {10, 36}, 2), weight("body.fc2.bias", {10}, 3)},
             {{"transB", 1L}, {"alpha", 0.5F}});
  x = b.node("Tanh", {x});
  x = b.node("MatMul", {x, weight("head.weight", {10, 4}, 4)});
  b.node("Add", {x, weight("head.bias", {4}, 5)}, {}, "logits");
  b.output("logits", dtype, {"N", 4});
  return b.bytes();
}

inline PrepareOptions with_adapters(Lora lora = {.rank = 2, .alpha = 6}) {
  PrepareOptions options;
  options.optimizer = Adam{.learning_rate = 0.05F};
  options.lora = std::move(lora);
  return options;
}

inline NamedValues batch_of_six() {
  Tensor labels(DType::int64, {6});
  for (std::size_t i = 0; i < 6; ++i) {
    labels.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i % 4);
  }
  return {{"x", random_floats({6, 3, 8}, 9)}, {"label", labels}};
}

inline Model trained(PrepareOptions options, int steps = 5) {
  Model model = prepare(three_layers(DType::float32, options.quantize_frozen ? 21 : 17), options);
  for (int i = 0; i < steps; ++i) model.train_step(batch_of_six());
  return model;
}

// The prediction for the batch.
inline std::vector<float> logits_of(const Model& model) {
  const auto results = model.infer({batch_of_six()[0]});
  const auto values = results[0].second.tensor().values<float>();
  return {values.begin(), values.end()};
}

inline double distance(const std::vector<float>& one, const std::vector<float>& other) {
  double most = one.size() == other.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < one.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(one[i]) - static_cast<double>(other[i])));
  }
  return most;
}

}  // namespace ondine::test
