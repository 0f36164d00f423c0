// Turning an inference model into a training model by writing its TrainingInfoProto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/limits.h>

namespace ondine {

enum class Loss : std::uint8_t {
  softmax_cross_entropy,  // logits [N, C, ...], int64 labels [N, ...]
  bce_with_logits,        // logits and labels of one shape, labels in [0, 1]
  mse,
  mae,
  huber,  // 0.5 d^2 below delta, delta (|d| - 0.5 delta) above
};

enum class Optimizer : std::uint8_t { sgd, momentum, nesterov, adagrad, adam, adamw };

// How initialize() draws weights of two or more dims; biases and the like become what they are in
// the model: zeros stay zeros, ones stay ones, other vectors keep their values.
enum class WeightInit : std::uint8_t {
  keep,
  xavier_uniform,
  xavier_normal,
  he_uniform,
  he_normal,
  uniform,
  zeros
};

struct PrepareOptions {
  Loss loss = Loss::softmax_cross_entropy;
  std::string output;  // the main output the loss reads; empty: the only or first one
  std::string label = "label";
  float huber_delta = 1;
  Optimizer optimizer = Optimizer::sgd;
  float learning_rate = 0.01F;  // default of the input "learning_rate"
  float momentum = 0.9F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float weight_decay = 0;
  std::optional<float> clip_norm;  // bound of the gradients' global norm
  // Glob patterns (* and ?) on initializer names. Nothing: every floating point initializer that
  // the loss depends on, but for constants: rank 0, factors and exponents of one element, divisors,
  // what is taken off an input, zeros that recurrent layers start from. Where the file's metadata
  // says what is a parameter (PyTorch, dynamo=True) that decides.
  std::vector<std::string> train;
  std::vector<std::string> freeze;
  // Train only the parameters of the last layers (nodes with parameters, counted from the output).
  std::optional<std::size_t> last_layers;
  // Parameters that the exporter found equal and wrote once are trained on their own again.
  bool untie = false;
  WeightInit init = WeightInit::he_uniform;
  bool accuracy = true;  // softmax_cross_entropy only: output "accuracy"
  // Dropout and BatchNormalization train (statistics bound as state) instead of staying frozen. The
  // main graph infers in either case, also where the file was exported in training mode.
  bool training_mode = true;
  // Tensors of at least this many bytes go to one file beside the output (see ExportOptions);
  // needed from 2 GiB on.
  std::optional<std::uint64_t> external_data_from;
};

// What was written, for messages: names of inputs, outputs and trained parameters.
struct PrepareReport {
  std::string loss;
  std::vector<std::string> trained;
  std::vector<std::string> frozen;
};

// Throws Error(unsupported) naming the first operator on the loss's path without a derivative,
// Error(mismatch) for a pattern that matches nothing.
PrepareReport prepare(const std::filesystem::path& input, const std::filesystem::path& output,
                      const PrepareOptions& options, const Limits& limits = {});

}  // namespace ondine
