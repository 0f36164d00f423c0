#include "trainer/finetune/input_scaling.h"

#include <algorithm>

#include <ondine/data_record.h>

#include "core/message.h"
#include "trainer/data/images/channels.h"
#include "trainer/finetune/scaling.h"

namespace ondine::tune {
namespace {

// The only input that must be fed.
std::optional<PortInfo> only_input(const Model& model) {
  std::optional<PortInfo> found;
  for (const PortInfo& input : model.inputs()) {
    if (input.has_default) continue;
    if (found) return {};
    found = input;
  }
  return found;
}

// Description of the scaling in front of new networks.
const char* described_scales(const Facts& facts) {
  switch (facts.kind) {
    case RowKind::images:
      return "mean and deviation of each channel over training rows";
    case RowKind::recordings:
      return "log-mel spectrograms with mean and deviation of training rows";
    default:
      return "mean and deviation of each column over training rows";
  }
}

using data::is_channels;

InputScaling pretrained_images(const Opened& opened, const PortInfo& input) {
  Preprocess scaling = image_scaling(opened.training, opened.facts, input);
  if (scaling.type != DType::uint8) {
    return {{}, "inputs as they are, as a trained network takes them"};
  }
  const bool has_colors = scaling.mean.size() == 3;
  scaling.mean.clear();
  scaling.deviation.clear();
  if (has_colors) {
    scaling.mean = {0.485F, 0.456F, 0.406F};
    scaling.deviation = {0.229F, 0.224F, 0.225F};
  }
  return {std::move(scaling), has_colors ? "pixels scaled by 1/255, mean and deviation of ImageNet "
                                           "(trained weights)"
                                         : "pixels scaled by 1/255 (trained weights)"};
}

InputScaling scale_images(const Opened& opened, const PortInfo& input, bool is_trained) {
  const auto& dims = *input.dims;
  const bool has_channels = is_channels(dims[1]) || is_channels(dims[3]);
  const bool has_size =
      is_channels(dims[1]) ? dims[2] > 0 && dims[3] > 0 : dims[1] > 0 && dims[2] > 0;
  if (!has_channels || (!has_size && !opened.facts.are_files)) return {};
  if (is_trained) return pretrained_images(opened, input);
  Preprocess scaling = image_scaling(opened.training, opened.facts, input);
  const char* pixels = scaling.type == DType::uint8 ? "pixels scaled by 1/255, " : "";
  return {std::move(scaling), cat(pixels, "mean and deviation of each channel over training rows")};
}

bool takes_samples(const PortInfo& input) {
  const auto& dims = *input.dims;
  return dims.size() == 2 || (dims.size() == 3 && (dims[1] == 1 || dims[2] == 1));
}

InputScaling scale_recordings(const Opened& opened, const PortInfo& input, bool is_trained) {
  if (takes_samples(input)) return {};
  const auto& dims = *input.dims;
  if (is_trained) {
    fail(ErrorCode::mismatch,
         "the trained network reads spectrograms, and nothing says how they "
         "are computed: give --preprocess mel=BANDS,rate=...,window=...,hop=...");
  }
  const std::int64_t bands = dims.size() == 4 && dims[1] == 1 ? dims[2] : dims[1];
  if (bands <= 0) {
    fail(ErrorCode::mismatch, "input ", quoted(input.name), " ", input.type,
         " says no number of bands: give --preprocess mel=BANDS");
  }
  Preprocess scaling = mel_scaling(opened.training, opened.facts, input, bands);
  const LogMel& mel = *scaling.mel;
  const std::string text =
      cat("log-mel spectrograms of ", mel.bands, " bands, windows of ", mel.window, " samples at ",
          mel.rate, " Hz; their mean and deviation over training rows");
  return {std::move(scaling), text};
}

InputScaling scale_columns(const Opened& opened, const PortInfo& input, bool is_trained) {
  const auto& dims = *input.dims;
  if (dims.size() < 2 || dims.back() <= 0) return {};
  if (is_trained) return {{}, "numbers as they are, as a trained network takes them"};
  return {column_scaling(opened.training, opened.facts, input),
          "mean and deviation of each column over training rows"};
}

}  // namespace

InputScaling choose_input_scaling(const Opened& opened, bool is_trained) {
  if (opened.facts.rows.empty()) return {};
  const DataRecord record = data_record(opened.model());
  if (!record.preprocessing.empty()) {
    if (opened.network.empty()) return {{}, "preprocessing that the model has"};
    return {{}, cat(described_scales(opened.facts), ", in the network")};
  }
  if (record.data.rows > 0) return {{}, "inputs as the model was trained with"};
  const auto input = only_input(opened.model());
  if (!input || !input->dims || !is_float(input->dtype)) return {};
  switch (opened.facts.kind) {
    case RowKind::images:
      if (input->dims->size() == 4) return scale_images(opened, *input, is_trained);
      return scale_columns(opened, *input, is_trained);
    case RowKind::recordings:
      return scale_recordings(opened, *input, is_trained);
    case RowKind::numbers:
      return scale_columns(opened, *input, is_trained);
    default:
      return {};
  }
}

}  // namespace ondine::tune
