// Options of commands that read data.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <ondine/dataset.h>

#include "ondine/command.h"

namespace ondine::cli {

struct DataOptions {
  std::vector<std::string> data;
  Layout layout = Layout::nchw;
  ImageFit image_fit = ImageFit::crop;
  std::string image_size;
  std::string target;
  std::optional<float> fill;
  bool skip_broken = false;
  std::string text_column;
  std::uint64_t text_length = 0;
  std::string tokenizer;
  AudioOptions audio;
  bool no_resample = false;
  std::uint64_t cache_bytes = 0;  // rows are taken once
  // Of the command, which bounds reading too; must outlive the options.
  const std::optional<std::chrono::milliseconds>* deadline = nullptr;
};

// Adds --data and the options for reading it; `options` and the deadline of the command must
// outlive parsing. Returns --data.
Option add_data_options(Command command, DataOptions& options,
                        const std::optional<std::chrono::milliseconds>& deadline);

// As the model's texts were read, where no option says otherwise. Error(mismatch) for a --tokenizer
// that is not the model's.
TextOptions read_text_options(const DataOptions& options, const Model& model);
DatasetOptions dataset_options(const DataOptions& options, const Model& model);
// For the model: texts are read as it takes them. With the names of the classes in the order of its
// outputs, where these are known. `rate`: samples a second of recordings; 0: what the model takes.
Dataset open_dataset(const std::vector<std::string>& places, const DataOptions& options,
                     const Model& model, const std::vector<std::string>& classes,
                     std::int64_t rate = 0);

// Says on standard error which files were left out, and what else is to be known of the data.
void print_skipped(const Dataset& data);

}  // namespace ondine::cli
