// Options of commands that read data.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/options.h>

#include "ondine/command.h"

namespace ondine::cli {

struct DataOptions {
  std::vector<std::string> data;
  OptionValues values;  // of the table
  // Bytes of decoded files that are kept, where no option says it: 0 for rows that are taken once.
  std::optional<std::uint64_t> cache_bytes = {};
  std::optional<std::chrono::milliseconds> deadline = {};  // of the command bounds reading too
};

// Options of data as a command gives them.
DataOptions data_of(const CommandOptions& options);

// Options for reading data as the command line gives them, without those that a model records.
DatasetOptions plain_dataset_options(const DataOptions& options);
// As the model takes data (recorded_options), where no option says otherwise. Error(mismatch) for
// an option that contradicts the model.
DatasetOptions dataset_options(const DataOptions& options, const Model& model, DataUse use);
// Throws WrongUsage for --columns with data that are no table.
Dataset open_places(const std::vector<std::string>& places, const DataOptions& options,
                    const DatasetOptions& how);
Dataset open_dataset(const std::vector<std::string>& places, const DataOptions& options,
                     const Model& model, DataUse use = DataUse::training);
// Data to evaluate on while training with `training`: columns, classes and sample rate are those.
Dataset open_like(const Dataset& training, const std::vector<std::string>& places,
                  const DataOptions& options, const Model& model);

// Says on standard error which files were left out, and what else is to be known of the data, but
// for notes that `said` has too.
void print_skipped(const Dataset& data, const Dataset& said = {});

}  // namespace ondine::cli
