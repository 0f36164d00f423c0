// Class weights (--class-weights balanced) and the plan of a table, computed by prepare from
// training data.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <ondine/table.h>

#include "ondine/train/data_options.h"

namespace ondine::cli {

struct TrainingRows {
  DataOptions data;
  double validation_split = 0;
  LoadOptions load;  // the seed of the split
  // Whether the data are those of a job file, where `train` reads them.
  std::function<bool()> is_shared;
};

// Adds the options of the data. `options` and the deadline of the command must outlive parsing.
void add_training_rows(Command command, TrainingRows& options,
                       const std::optional<std::chrono::milliseconds>& deadline);

struct UsedRows {
  std::optional<TablePlan> plan = {};
  Dataset data = {};  // what the budget is chosen by
};

// In place of --class-weights balanced puts the weights: for class c of C classes in N rows of
// training data, N_c of which are its own, N / (C N_c), and prints them. Throws WrongUsage for data
// that nothing needs and for what needs data, Error(mismatch) for weights of data without one
// integer or class for each row and for a class without rows.
UsedRows use_training_rows(const TrainingRows& options, const std::string& model,
                           const TableOptions& table, bool has_budget, OptionValues& values);

}  // namespace ondine::cli
