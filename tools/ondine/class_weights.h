// The option --class-weights.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ondine/train/data_options.h"

namespace ondine::cli {

struct ClassWeightOptions {
  std::string weights;  // "1,0.5,2" or "balanced"
  DataOptions data;     // what "balanced" counts
  double validation_split = 0;
  std::uint64_t seed = 0;
};

// `options` and the deadline of the command must outlive parsing.
void add_class_weights(Command command, ClassWeightOptions& options,
                       const std::optional<std::chrono::milliseconds>& deadline);

// For class c of C classes in N rows of training data, N_c of which are its own, "balanced" is
// N / (C N_c). Throws WrongUsage for an option that does not go with the others, Error(mismatch)
// for data without one integer or class for each row and for a class without rows. Prints weights
// that it computed.
std::vector<float> class_weights(const ClassWeightOptions& options, const std::string& model);

}  // namespace ondine::cli
