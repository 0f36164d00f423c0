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
  // Bytes of decoded files that are kept; nothing: none, for rows that are taken once.
  std::optional<std::uint64_t> cache_bytes = 0;
  // Deadline of the command, which bounds reading too; must outlive the options.
  const std::optional<std::chrono::milliseconds>* deadline = nullptr;
};

// Adds --data and the options for reading it; `options` and the deadline of the command must
// outlive parsing. Returns --data.
Option add_data_options(Command command, DataOptions& options,
                        const std::optional<std::chrono::milliseconds>& deadline);

// Throws WrongUsage for an option of data, but those named, where no data is given.
void require_data(const DataOptions& options, std::initializer_list<std::string_view> others = {});

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
