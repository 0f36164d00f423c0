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
  bool has_layout = false;  // the option was given
  ImageFit image_fit = ImageFit::crop;
  bool has_image_fit = false;
  std::string image_size;
  std::string target;
  std::optional<float> fill;
  bool skip_broken = false;
  bool outside_files = false;
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
// As the model takes data (recorded_options), where no option says otherwise. Error(mismatch) for an
// option that contradicts the model.
DatasetOptions dataset_options(const DataOptions& options, const Model& model, DataUse use);
Dataset open_dataset(const std::vector<std::string>& places, const DataOptions& options,
                     const Model& model, DataUse use = DataUse::training);
// Data to evaluate on while training with `training`: columns, classes and sample rate are those.
Dataset open_like(const Dataset& training, const std::vector<std::string>& places,
                  const DataOptions& options, const Model& model);

// Says on standard error which files were left out, and what else is to be known of the data, but
// for notes that `said` has too.
void print_skipped(const Dataset& data, const Dataset& said = {});

}  // namespace ondine::cli
