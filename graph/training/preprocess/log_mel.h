// The log-mel spectrogram in front of an input of a main graph.
#pragma once

#include <ondine/preprocess.h>

#include "graph/training/prepare/writer.h"

namespace ondine::graph {

class LogMelWriter {
 public:
  // `input` is what the model takes. Throws Error(mismatch) for numbers out of range and an input
  // without an axis of bands, Error(unsupported) for a model below ai.onnx 17.
  LogMelWriter(const LogMel& options, const ValueDef& input, std::int64_t opset);

  // [N, T]
  std::vector<DimDef> sample_dims(Names& names) const;
  // The type to compute in: powers of 16 bits would overflow.
  DType dtype() const noexcept;
  // Writes the spectrogram of samples of that type; the result has the dims and type of the model.
  std::string write(GraphWriter& writer, const std::string& samples) const;

 private:
  void find_axes();
  std::string power(GraphWriter& writer, const std::string& samples) const;
  std::string mel_weights(GraphWriter& writer) const;
  double highest() const;

  LogMel options_;
  ValueDef input_;
  std::int64_t opset_;
  bool bands_last_ = false;
  std::optional<std::int64_t> channel_axis_;  // of size 1
  std::size_t frame_axis_ = 0;
};

// For metadata: "mel 40 bands ...".
std::string describe_mel(const LogMel& options);

}  // namespace ondine::graph
