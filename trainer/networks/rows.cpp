// Networks that read rows of numbers, texts and recordings.
#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "trainer/data/audio/sound_file.h"
#include "trainer/finetune/read_column.h"
#include "trainer/finetune/scaling.h"
#include "trainer/networks/kinds.h"

namespace ondine::networks {
namespace {

// The length in seconds that covers three quarters of at most 500 recordings.
double usual_length(const Dataset& data) {
  constexpr std::uint64_t most = 500;
  const std::uint64_t count = std::min(most, data.rows());
  std::vector<double> lengths;
  for (std::uint64_t i = 0; i < count; ++i) {
    const data::SoundInfo info = data::sound_info(data.file(i * data.rows() / count));
    lengths.push_back(static_cast<double>(info.frames) / static_cast<double>(info.rate));
  }
  const auto at = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() * 3 / 4);
  std::nth_element(lengths.begin(), at, lengths.end());
  return *at;
}

std::int64_t samples_of(const Brief& brief) {
  constexpr double shortest = 0.25;
  constexpr double longest = 5;
  const auto& row = brief.facts.row;
  if (!row.empty() && row[0] > 0) return row[0];
  double seconds = brief.options.seconds;
  if (seconds <= 0) seconds = std::clamp(usual_length(brief.data), shortest, longest);
  return std::llround(seconds * static_cast<double>(brief.data.sample_rate()));
}

}  // namespace

Drawn draw_mlp(const Brief& brief) {
  require_row_targets(brief, NetworkKind::mlp);
  constexpr std::int64_t hidden = 64;
  constexpr std::uint64_t many_rows = 10000;
  std::int64_t columns = 1;
  for (const std::int64_t dim : brief.facts.row) columns *= dim;
  if (columns <= 0) fail(ErrorCode::mismatch, "an mlp needs rows of one size");
  Layers layers("mlp", brief.options.seed);
  const std::string name = brief.facts.rows;
  std::string x = layers.builder().input(name, DType::float32, {"N", columns});
  x = layers.relu(layers.linear(x, "layer1", columns, hidden));
  // A second layer overfits few rows.
  const bool is_deep = brief.data.rows() >= many_rows;
  if (is_deep) x = layers.relu(layers.linear(x, "layer2", hidden, hidden));
  x = layers.scores(x, "head", hidden, brief.outputs());
  write_output(layers, x, brief.facts.target, {"N", brief.outputs()});
  const std::vector<std::int64_t> row{columns};
  const PortInfo input = tune::port_of(name, DType::float32, row);
  std::optional<Preprocess> scaling;
  if (!brief.facts.are_encoded) scaling = tune::column_scaling(brief.data, brief.facts, input);
  return {std::move(layers.builder()), std::move(scaling),
          cat("mlp with ", is_deep ? "2 hidden layers" : "a hidden layer", " of ", hidden, " for ",
              columns, " columns")};
}

Drawn draw_text(const Brief& brief) {
  require_row_targets(brief, NetworkKind::text);
  constexpr std::int64_t most_ids = 512;
  constexpr std::int64_t fewest_ids = 32;  // that both convolutions need
  constexpr std::int64_t width = 32;
  constexpr std::int64_t channels = 64;
  const TextOptions text = brief.data.text().value();
  std::int64_t length = brief.options.text_length;
  if (length == 0) length = text.length;
  if (length == 0) {
    length = std::min(most_ids, brief.facts.row.empty() ? most_ids : brief.facts.row[0]);
  }
  length = std::max(length, fewest_ids);
  Layers layers("text", brief.options.seed);
  ModelBuilder& builder = layers.builder();
  using Integers = std::vector<std::int64_t>;
  std::string x = builder.input(brief.facts.rows, DType::int64, {"N", length});
  x = layers.embedding(x, "embedding", text.encoding.size(), width);
  x = builder.node("Transpose", {x}, {{"perm", Integers{0, 2, 1}}});
  x = layers.conv(x, "conv1", {width, channels, 5, 1, 1});
  x = builder.node("MaxPool", {x}, {{"kernel_shape", Integers{3}}, {"strides", Integers{3}}});
  x = layers.conv(x, "conv2", {channels, channels, 5, 1, 1});
  x = builder.node("Flatten", {builder.node("GlobalMaxPool", {x})});
  x = layers.scores(x, "head", channels, brief.outputs());
  write_output(layers, x, brief.facts.target, {"N", brief.outputs()});
  return {std::move(builder),
          {},
          cat("text network of 2 convolutions for ", length, " ",
              text.encoding.name() == "bytes" ? "bytes" : "pieces")};
}

Drawn draw_audio(const Brief& brief) {
  require_row_targets(brief, NetworkKind::audio);
  const std::int64_t rate = brief.data.sample_rate();
  if (rate <= 0) fail(ErrorCode::mismatch, "an audio network needs recordings");
  const std::int64_t bands = rate <= 8000 ? 40 : 64;
  const LogMel mel = tune::mel_of(rate, bands);
  const std::int64_t samples = samples_of(brief);
  constexpr std::int64_t fewest_frames = 8;
  const std::int64_t frames =
      std::max(fewest_frames, 1 + std::max<std::int64_t>(0, samples - mel.window) / mel.hop);
  Layers layers("audio", brief.options.seed);
  ModelBuilder& builder = layers.builder();
  const std::string name = brief.facts.rows;
  std::string x = builder.input(name, DType::float32, {"N", 1, bands, frames});
  std::int64_t channels = 1;
  for (const std::int64_t next : {16, 32, 64}) {
    x = layers.conv(x, cat("conv", next), {channels, next, 3, 2, 2});
    channels = next;
  }
  x = builder.node("Flatten", {builder.node("GlobalAveragePool", {x})});
  x = layers.scores(x, "head", channels, brief.outputs());
  write_output(layers, x, brief.facts.target, {"N", brief.outputs()});
  const std::vector<std::int64_t> row{1, bands, frames};
  const PortInfo input = tune::port_of(name, DType::float32, row);
  const double seconds =
      static_cast<double>(mel.window + (frames - 1) * mel.hop) / static_cast<double>(rate);
  return {std::move(builder), tune::mel_scaling(brief.data, brief.facts, input, bands),
          cat("audio network of 3 convolutions for ", seconds, " s at ", rate, " Hz")};
}

}  // namespace ondine::networks
