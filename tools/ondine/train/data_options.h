// Options of commands that read data.
#pragma once

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
};

// Adds --data and the options for reading it; `options` must outlive parsing. Returns --data.
Option add_data_options(Command command, DataOptions& options);

DatasetOptions dataset_options(const DataOptions& options);
Dataset open_dataset(const std::vector<std::string>& places, const DataOptions& options);

}  // namespace ondine::cli
