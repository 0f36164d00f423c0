// The checkpoint file of onnxruntime-training: FlatBuffers with the identifier "ODTC".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ondine/limits.h>
#include <ondine/tensor.h>

namespace ondine::trainer {

struct OrtOptimizerState {
  std::int64_t step = 0;
  float learning_rate = 0;
  // Moments of every parameter, in the order of the optimizer's inputs.
  std::map<std::string, std::vector<Tensor>> moments;
};

struct OrtCheckpoint {
  std::vector<std::pair<std::string, Tensor>> trained;
  std::vector<std::pair<std::string, Tensor>> frozen;
  std::optional<OrtOptimizerState> optimizer;  // absent before training
  // Numbers are written so that they read back exactly.
  std::vector<std::pair<std::string, std::string>> properties;
};

// Throws Error(corrupt), Error(limit) and Error(unsupported); nothing is allocated beyond a few
// times the number of bytes.
OrtCheckpoint read_ort_checkpoint(std::span<const std::byte> bytes, const Limits& limits);
OrtCheckpoint load_ort_checkpoint(const std::filesystem::path& file, const Limits& limits);

}  // namespace ondine::trainer
