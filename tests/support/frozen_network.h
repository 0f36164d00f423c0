// Training models in which a scale of the input trains before frozen matrices.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {

// Options that train the initializer "scale", by gradient descent.
inline PrepareOptions options_for_scale(std::vector<std::string> freeze, float learning_rate) {
  PrepareOptions options;
  options.init = WeightInit::keep;
  options.train = {"scale"};
  options.freeze = std::move(freeze);
  options.optimizer = Sgd{.learning_rate = learning_rate};
  return options;
}

struct FrozenNetwork {
  std::int64_t width, hidden, classes;
  float learning_rate = 0.1F;
  std::optional<std::uint64_t> external_data_from = {};
};

// Two frozen layers, "up" [width, hidden] and "down" [classes, hidden], which is transposed.
inline std::filesystem::path save_frozen_network(const TemporaryFolder& folder,
                                                 const FrozenNetwork& network) {
  const auto [width, hidden, classes, learning_rate, external_data_from] = network;
  ModelBuilder b("network");
  const auto x = b.input("x", DType::float32, {"N", width});
  const auto scale = b.initializer("scale", random_floats({width}, 1));
  const auto up = b.initializer("up", random_floats({width, hidden}, 2, -0.1F, 0.1F));
  const auto down = b.initializer("down", random_floats({classes, hidden}, 3, -0.1F, 0.1F));
  const auto h = b.node("Tanh", {b.node("MatMul", {b.node("Mul", {x, scale}), up})});
  b.output(b.node("MatMul", {h, b.node("Transpose", {down})}), DType::float32, {"N", classes});
  const auto plain = folder / "plain.onnx";
  auto file = folder / "network.onnx";
  b.save(plain);
  PrepareOptions options = options_for_scale({"up", "down"}, learning_rate);
  options.external_data_from = external_data_from;
  prepare(plain, file, options);
  return file;
}

}  // namespace ondine::test
