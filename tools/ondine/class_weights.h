// The option --class-weights.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ondine/train/data_options.h"

namespace ondine::cli {

struct ClassWeightOptions {
  DataOptions data;  // what "balanced" counts
  double validation_split = 0;
  LoadOptions load;  // the seed of the split
  // Whether the data are those of a job file, where `train` reads them.
  std::function<bool()> is_shared;
};

// Adds the data that "balanced" counts. `options` and the deadline of the command must outlive
// parsing.
void add_class_weights(Command command, ClassWeightOptions& options,
                       const std::optional<std::chrono::milliseconds>& deadline);

// In place of --class-weights balanced puts the weights: for class c of C classes in N rows of
// training data, N_c of which are its own, N / (C N_c). Throws WrongUsage for data that nothing
// counts, Error(mismatch) for data without one integer or class for each row and for a class
// without rows. Prints weights that it computed.
void balance_classes(const ClassWeightOptions& options, const std::string& model,
                     OptionValues& values);

}  // namespace ondine::cli
