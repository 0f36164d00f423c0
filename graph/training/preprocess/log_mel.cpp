#include "graph/training/preprocess/log_mel.h"

#include <cmath>

#include "core/message.h"

namespace ondine::graph {
namespace {

using Ints = std::vector<std::int64_t>;

void require_valid(const LogMel& options) {
  const auto require = [](bool holds, const char* what, auto found) {
    if (!holds) fail(ErrorCode::mismatch, "log-mel: ", what, ", found ", found);
  };
  constexpr std::int64_t most = 1 << 24;
  require(options.bands > 0 && options.bands < most, "bands must be positive", options.bands);
  require(options.rate > 0 && options.rate < most, "the rate must be positive", options.rate);
  require(options.window > 1 && options.window < most, "a window needs at least two samples",
          options.window);
  require(options.hop > 0 && options.hop < most, "the hop must be positive", options.hop);
  const double half = static_cast<double>(options.rate) / 2;
  const double high = options.high == 0 ? half : options.high;
  require(options.low >= 0 && options.low < high,
          "the lowest frequency must be from 0 to below the highest", options.low);
  require(high <= half, "the highest frequency must not be above half the rate", high);
  require(options.offset > 0 && std::isfinite(options.offset), "the offset must be positive",
          options.offset);
  require(options.type == DType::int16 || is_float(options.type),
          "samples are floating point numbers or int16", options.type);
}

bool is_size(const DimDef& dim, std::int64_t size) {
  const auto* known = std::get_if<std::int64_t>(&dim);
  return known != nullptr && *known == size;
}

Tensor int_scalar(std::int64_t value) { return Tensor::of(Shape{}, Ints{value}); }

}  // namespace

LogMelWriter::LogMelWriter(const LogMel& options, const ValueDef& input, std::int64_t opset)
    : options_(options), input_(input), opset_(opset) {
  require_valid(options);
  if (opset < 17) {
    fail(ErrorCode::unsupported, "log-mel needs ai.onnx 17 or newer, the model imports ai.onnx ",
         opset);
  }
  find_axes();
}

void LogMelWriter::find_axes() {
  const auto& dims = input_.type.dims;
  const std::size_t rank = dims ? dims->size() : 0;
  std::vector<std::size_t> axes;
  for (std::size_t i = 1; i < rank; ++i) axes.push_back(i);
  if (rank == 4) {
    const std::size_t channels = is_size((*dims)[1], 1) ? 1 : 3;
    if (is_size((*dims)[channels], 1)) {
      std::erase(axes, channels);
      channel_axis_ = static_cast<std::int64_t>(channels);
    }
  }
  if (axes.size() == 2) {
    const bool first = is_size((*dims)[axes[0]], options_.bands);
    bands_last_ = !first && is_size((*dims)[axes[1]], options_.bands);
    frame_axis_ = axes[first ? 1 : 0];
    if (first || bands_last_) return;
  }
  std::string found = "?";
  if (dims) {
    found.clear();
    for (const DimDef& dim : *dims) {
      const auto* size = std::get_if<std::int64_t>(&dim);
      found += (found.empty() ? "" : ", ") + (size ? std::to_string(*size) : std::string("?"));
    }
  }
  fail(ErrorCode::mismatch, "log-mel of ", options_.bands, " bands needs an input [N, 1, ",
       options_.bands, ", frames], [N, 1, frames, ", options_.bands, "] or without the 1, input ",
       quoted(input_.name), " is [", found, "]");
}

std::vector<DimDef> LogMelWriter::sample_dims(Names& names) const {
  const std::vector<DimDef>& dims = *input_.type.dims;
  if (const auto* frames = std::get_if<std::int64_t>(&dims[frame_axis_])) {
    return {dims[0], options_.window + (*frames - 1) * options_.hop};
  }
  return {dims[0], DimName(names.fresh(input_.name + "_samples"))};
}

DType LogMelWriter::dtype() const noexcept {
  return is_low_precision(input_.type.dtype) ? DType::float32 : input_.type.dtype;
}

// [N, frames, bins]
std::string LogMelWriter::power(GraphWriter& writer, const std::string& samples) const {
  const auto scalar = [&](const char* hint, std::int64_t value) {
    return writer.initializer(hint, int_scalar(value));
  };
  const std::string signal = writer.node(
      "Unsqueeze", {samples, writer.initializer("preprocess.axis", Tensor::of(Shape{1}, Ints{2}))},
      "preprocess.signal");
  const std::string window =
      writer.node("HannWindow", {scalar("preprocess.window_size", options_.window)},
                  "preprocess.window", {{"output_datatype", static_cast<std::int64_t>(dtype())}});
  const std::string spectrum =
      writer.node("STFT", {signal, scalar("preprocess.hop", options_.hop), window},
                  "preprocess.spectrum", {{"onesided", std::int64_t{1}}});
  if (opset_ < 18) {
    return writer.node("ReduceSumSquare", {spectrum}, "preprocess.power",
                       {{"axes", Ints{3}}, {"keepdims", std::int64_t{0}}});
  }
  return writer.node(
      "ReduceSumSquare",
      {spectrum, writer.initializer("preprocess.parts", Tensor::of(Shape{1}, Ints{3}))},
      "preprocess.power", {{"keepdims", std::int64_t{0}}});
}

double LogMelWriter::highest() const {
  return options_.high == 0 ? static_cast<double>(options_.rate) / 2 : options_.high;
}

// [bins, bands]
std::string LogMelWriter::mel_weights(GraphWriter& writer) const {
  const auto scalar = [&](const char* hint, std::int64_t value) {
    return writer.initializer(hint, int_scalar(value));
  };
  const auto edge = [&](const char* hint, double value) {
    return writer.scalar(hint, value, DType::float32);
  };
  return writer.node(
      "MelWeightMatrix",
      {scalar("preprocess.bands", options_.bands), scalar("preprocess.dft", options_.window),
       scalar("preprocess.rate", options_.rate), edge("preprocess.low", options_.low),
       edge("preprocess.high", highest())},
      "preprocess.mel", {{"output_datatype", static_cast<std::int64_t>(dtype())}});
}

std::string LogMelWriter::write(GraphWriter& writer, const std::string& samples) const {
  const std::string bands = writer.node("MatMul", {power(writer, samples), mel_weights(writer)},
                                        "preprocess.bands_power");
  const std::string raised =
      writer.node("Add", {bands, writer.scalar("preprocess.offset", options_.offset, dtype())},
                  "preprocess.raised");
  std::string value = writer.node("Log", {raised}, "preprocess.log_mel");
  if (!bands_last_) {
    value = writer.node("Transpose", {value}, "preprocess.bands_first", {{"perm", Ints{0, 2, 1}}});
  }
  if (channel_axis_) {
    value = writer.node("Unsqueeze",
                        {value, writer.initializer("preprocess.channel",
                                                   Tensor::of(Shape{1}, Ints{*channel_axis_}))},
                        "preprocess.channels");
  }
  const DType model = input_.type.dtype;
  return model == dtype() ? value : writer.cast(value, model, "preprocess.narrow");
}

std::string describe_mel(const LogMel& options) {
  const double half = static_cast<double>(options.rate) / 2;
  return cat("mel ", options.bands, " bands of ", options.low, " to ",
             options.high == 0 ? half : options.high, " Hz, rate ", options.rate, ", window ",
             options.window, ", hop ", options.hop, ", offset ", options.offset);
}

}  // namespace ondine::graph
