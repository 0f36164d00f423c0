// `infer` on data sets: the best classes of each row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ondine/train/data_options.h"

namespace ondine::cli {

struct InferDataOptions {
  DataOptions data;
  std::vector<std::string> map;
  std::uint64_t top = 1;
  std::string output;  // .csv; printed if empty
};

// Prints or writes, for each row, the file it is from and the classes with the largest scores of
// the first output, probabilities where the output holds logits; of an output without classes its
// numbers.
void infer_data(const Model& model, const InferDataOptions& options);

}  // namespace ondine::cli
