// Writes a network for log-mel spectrograms: make_sound_cnn OUT.onnx
#include <iostream>

#include <ondine/build.h>

namespace {

using ondine::DType;
using ondine::ModelBuilder;
using ondine::Shape;
using ondine::Tensor;

// Three convolutions that halve bands and frames, each with a normalization, their mean over both,
// four languages.
ModelBuilder make_sound_cnn() {
  constexpr std::int64_t bands = 40;
  constexpr std::int64_t frames = 124;  // two seconds
  constexpr std::int64_t languages = 4;
  ModelBuilder builder("sound");
  const auto filled = [&](const std::string& name, const Shape& shape, float value = 0) {
    Tensor tensor(DType::float32, shape);
    for (float& one : tensor.mutable_values<float>()) one = value;
    return builder.initializer(name, tensor);
  };
  std::string x = builder.input("spectrogram", DType::float32, {"N", 1, bands, frames});
  std::int64_t channels = 1;
  for (const std::int64_t next : {16, 32, 64}) {
    const std::string conv = "conv" + std::to_string(next);
    const std::string norm = "norm" + std::to_string(next);
    x = builder.node("Conv",
                     {x, filled(conv + ".w", {next, channels, 3, 3}), filled(conv + ".b", {next})},
                     {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                      {"strides", std::vector<std::int64_t>{2, 2}}});
    x = builder.node("BatchNormalization",
                     {x, filled(norm + ".scale", {next}, 1), filled(norm + ".bias", {next}),
                      filled(norm + ".mean", {next}), filled(norm + ".var", {next}, 1)});
    x = builder.node("Relu", {x});
    channels = next;
  }
  x = builder.node("Flatten", {builder.node("GlobalAveragePool", {x})});
  builder.node("Gemm", {x, filled("fc.w", {channels, languages}), filled("fc.b", {languages})}, {},
               "logits");
  builder.output("logits", DType::float32, {"N", languages});
  return builder;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: make_sound_cnn OUT.onnx");
  make_sound_cnn().save(argv[1]);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
