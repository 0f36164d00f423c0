#include "trainer/finetune/scaling.h"

#include <algorithm>
#include <bit>

#include <ondine/build.h>

#include "graph/training/preprocess/preprocess.h"
#include "proto/import.h"
#include "trainer/data/images/channels.h"
#include "trainer/finetune/read_column.h"
#include "trainer/model/model_impl.h"

namespace ondine::tune {
namespace {

// Input that takes float32 elements, from which moments are computed.
PortInfo as_floats(const PortInfo& input, std::vector<std::int64_t> dims) {
  PortInfo port = input;
  port.dtype = DType::float32;
  dims[0] = -1;
  port.dims = std::move(dims);
  return port;
}

// Adds the elements at each position along `axis` of rows to the moments of the position.
bool add_moments(const Dataset& data, const Facts& facts, const PortInfo& input, std::size_t axis,
                 std::vector<Moments>& moments) {
  const ColumnRead read{as_floats(input, *input.dims), facts.rows, false, most_scaled_rows};
  return read_column(data, read, [&](const Tensor& batch) {
    const Shape& shape = batch.shape();
    moments.resize(static_cast<std::size_t>(shape[axis]));
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    const auto values = batch.values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = i / static_cast<std::size_t>(inner) % moments.size();
      moments[at].add(static_cast<double>(values[i]));
    }
  });
}

// The output of the network below, whose input may have any name.
std::string spectrogram_of(const PortInfo& input) { return input.name + ".read"; }

// A network that gives the spectrograms themselves.
Model spectrogram_model(const PortInfo& input, const Preprocess& preprocess) {
  ModelBuilder builder("spectrogram");
  std::vector<ModelBuilder::Dim> dims{"N"};
  for (std::size_t i = 1; i < input.dims->size(); ++i) dims.emplace_back((*input.dims)[i]);
  builder.input(input.name, DType::float32, dims);
  builder.node("Identity", {input.name}, {}, spectrogram_of(input));
  builder.output(spectrogram_of(input), DType::float32, dims);
  graph::ModelDef def = load_model(builder.bytes());
  graph::write_preprocess(def, preprocess);
  return ModelAccess::make(std::move(def), LoadOptions{});
}

}  // namespace

Preprocess image_scaling(const Dataset& data, const Facts& facts, const PortInfo& input) {
  const bool is_last = data::has_channels_last(std::span(*input.dims).subspan(1));
  std::vector<Moments> moments;
  const bool are_pixels =
      add_moments(data, facts, input, is_last ? 3 : 1, moments) || facts.are_files;
  Scales scales = scales_of(moments);
  Preprocess result;
  result.input = input.name;
  result.type = are_pixels ? DType::uint8 : input.dtype;
  result.layout = is_last || facts.are_files ? Layout::nhwc : Layout::nchw;
  if (!are_pixels && !is_last) result.layout = Layout::nchw;
  if (are_pixels) result.scale = 1.0 / 255;
  result.mean = std::move(scales.mean);
  result.deviation = std::move(scales.deviation);
  return result;
}

Preprocess column_scaling(const Dataset& data, const Facts& facts, const PortInfo& input) {
  std::vector<Moments> moments;
  add_moments(data, facts, input, input.dims->size() - 1, moments);
  Scales scales = scales_of(moments);
  Preprocess result;
  result.input = input.name;
  result.type = input.dtype;
  result.mean = std::move(scales.mean);
  result.deviation = std::move(scales.deviation);
  return result;
}

LogMel mel_of(std::int64_t rate, std::int64_t bands) {
  LogMel mel;
  mel.bands = bands;
  mel.rate = rate;
  const auto wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(32, rate * 32 / 1000));
  mel.window = static_cast<std::int64_t>(std::bit_floor(wanted + wanted / 2));
  mel.hop = mel.window / 2;
  mel.low = std::min(60.0, static_cast<double>(rate) / 100);
  return mel;
}

Preprocess mel_scaling(const Dataset& data, const Facts& facts, const PortInfo& input,
                       std::int64_t bands) {
  Preprocess result;
  result.input = input.name;
  result.mel = mel_of(data.sample_rate(), bands);
  const Model model = spectrogram_model(input, result);
  const std::vector<PortInfo> samples = model.inputs();
  const std::string name = spectrogram_of(input);
  std::vector<Moments> moments(1);
  const ColumnRead read{samples[0], facts.rows, false, most_scaled_rows / 4};
  read_column(data, read, [&](const Tensor& batch) {
    const Results results = model.infer({{samples[0].name, batch}}, {name});
    for (const float value : results[name].tensor().values<float>()) {
      moments[0].add(static_cast<double>(value));
    }
  });
  const Scales scales = scales_of(moments);
  result.mean = scales.mean;
  result.deviation = scales.deviation;
  return result;
}

}  // namespace ondine::tune
