#include "ondine/train/data_options.h"

#include <algorithm>
#include <iostream>
#include <map>

#include <ondine/data_record.h>
#include <ondine/error.h>
#include <ondine/printable.h>

#include "ondine/common.h"
#include "ondine/settings.h"

namespace ondine::cli {

Option add_data_options(Command command, DataOptions& options,
                        const std::optional<std::chrono::milliseconds>& deadline) {
  options.deadline = &deadline;
  Option data =
      command.option("--data", &options.data,
                     "Folder or files: IDX, .npy, .npz, .csv, a .csv list of images or "
                     "recordings and targets, these files, or a folder of them per class, .txt, "
                     "or .jsonl or .csv with texts");
  const std::map<std::string, Layout> layouts{{"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}};
  command.choice("--layout", &options.layout, layouts,
                 "Axes of image arrays; nhwc is transposed to nchw", &options.has_layout);
  const std::map<std::string, ImageFit> fits{{"crop", ImageFit::crop},
                                             {"stretch", ImageFit::stretch}};
  command.choice("--image-fit", &options.image_fit, fits,
                 "Images with another aspect ratio: crop to the centre or stretch",
                 &options.has_image_fit);
  command.option("--image-size", &options.image_size,
                 "HEIGHTxWIDTH, for models with dynamic height and width");
  command.option("--target", &options.target, "Column of a .csv to predict; the last if absent");
  command.option("--fill", &options.fill, "Number to use for missing numbers of a .csv");
  command.option(
      "--skip-broken", &options.skip_broken,
      "Leave out images and recordings that cannot be decoded; decodes all of them once");
  command.option("--outside-files", &options.outside_files,
                 "Read files that a .csv list names by absolute paths or '..'");
  command.option("--text-column", &options.text_column,
                 "Column of texts in a .csv or .jsonl; 'text' if absent");
  command.option("--text-length", &options.text_length,
                 "Bytes or pieces of a row of text, where the model leaves it open");
  command.option("--tokenizer", &options.tokenizer,
                 "SentencePiece model (.model) that texts are cut by; if absent the one that the "
                 "model was trained with, else texts are bytes");
  command.option("--sample-rate", &options.audio.rate,
                 "Samples a second of recordings, others are resampled; if 0 the model's, or that "
                 "of the first recording");
  command.option("--audio-seconds", &options.audio.seconds,
                 "Length of recordings, for models that leave it open");
  command.option("--no-resample", &options.no_resample,
                 "Refuse recordings with another sample rate");
  return data;
}

TextOptions read_text_options(const DataOptions& options, const Model& model) {
  TextOptions result = text_options(model);
  if (!options.text_column.empty()) result.column = options.text_column;
  if (options.text_length != 0) result.length = static_cast<std::int64_t>(options.text_length);
  if (options.tokenizer.empty()) return result;
  TextEncoding asked = TextEncoding::open(options.tokenizer);
  const bool is_known = !data_record(model).text.encoding.empty();
  if (is_known && !(result.encoding == asked)) {
    throw Error(ErrorCode::mismatch,
                "--tokenizer '" + options.tokenizer + "' is not what the model was trained with");
  }
  result.encoding = std::move(asked);
  return result;
}

DatasetOptions dataset_options(const DataOptions& options, const Model& model, DataUse use) {
  DatasetOptions result = recorded_options(model, use);
  if (options.has_layout) result.layout = options.layout;
  if (!options.image_size.empty()) {
    result.image_size = parse_size(options.image_size, "--image-size");
    // As the model would resize them.
    if (result.inner_resize) result.image_fit = ImageFit::stretch;
  }
  if (options.has_image_fit) result.image_fit = options.image_fit;
  if (!options.target.empty()) result.target = options.target;
  result.skip_broken = options.skip_broken;
  result.outside_files = options.outside_files;
  result.text = read_text_options(options, model);
  result.cache_bytes = options.cache_bytes;
  if (options.deadline != nullptr) result.deadline = *options.deadline;
  if (options.fill) result.fill = static_cast<double>(*options.fill);
  result.audio.resample = !options.no_resample;
  if (options.audio.seconds != 0) result.audio.seconds = options.audio.seconds;
  const std::int64_t rate = result.audio.rate;
  if (options.audio.rate != 0 && rate != 0 && options.audio.rate != rate) {
    throw Error(ErrorCode::mismatch, "--sample-rate is " + std::to_string(options.audio.rate) +
                                         ", the model takes " + std::to_string(rate));
  }
  if (rate == 0) result.audio.rate = options.audio.rate;
  return result;
}

Dataset open_dataset(const std::vector<std::string>& places, const DataOptions& options,
                     const Model& model, DataUse use) {
  return Dataset::open(to_paths(places), dataset_options(options, model, use));
}

Dataset open_like(const Dataset& training, const std::vector<std::string>& places,
                  const DataOptions& options, const Model& model) {
  DatasetOptions open = dataset_options(options, model, DataUse::training);
  open.classes = training.classes();
  if (training.table()) {
    open.features = training.table()->features;
    open.target = training.table()->target;
  } else if (training.text() && open.target.empty()) {
    open.target = training.target();
  }
  if (training.sample_rate() != 0) open.audio.rate = training.sample_rate();
  return Dataset::open(to_paths(places), open);
}

void print_skipped(const Dataset& data, const Dataset& said) {
  const std::vector<std::string> known = said.notes();
  for (const std::string& note : data.notes()) {
    if (std::find(known.begin(), known.end(), note) != known.end()) continue;
    std::cerr << "note: " << note << '\n';
  }
  const std::vector<std::string>& skipped = data.skipped();
  if (skipped.empty()) return;
  std::cerr << "note: " << skipped.size() << " broken "
            << (data.sample_rate() > 0 ? "recordings" : "images") << " are left out\n";
  constexpr std::size_t shown = 20;
  for (std::size_t i = 0; i < std::min(shown, skipped.size()); ++i) {
    std::cerr << "  " << printable(skipped[i]) << '\n';
  }
  if (skipped.size() > shown) std::cerr << "  ...\n";
}

}  // namespace ondine::cli
