// Class weights (--class-weights balanced) and the plan of a table, computed by prepare from
// training data.
#pragma once

#include <optional>

#include <ondine/table.h>

#include "ondine/train/data_options.h"

namespace ondine::cli {

struct UsedRows {
  std::optional<TablePlan> plan = {};
  Dataset data = {};  // what the budget is chosen by
};

// Reads --data of `prepare` if it is given. In place of --class-weights balanced among the values
// puts the weights: for class c of C classes in N rows of training data, N_c of which are its own,
// N / (C N_c), and prints them. Throws WrongUsage for balanced weights without data,
// Error(mismatch) for weights of data without one integer or class for each row and for a class
// without rows.
UsedRows use_training_rows(const CommandOptions& options, const TableOptions& table,
                           OptionValues& values);

}  // namespace ondine::cli
