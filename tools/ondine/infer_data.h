// `infer` on data sets: what an output says of each row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ondine/train/data_options.h"

namespace ondine::cli {

struct InferDataOptions {
  DataOptions data;
  OptionValues map;                  // --map
  std::optional<std::uint64_t> top;  // classes of a row; nothing: 1
  std::string model_output;          // nothing: the one that the model was trained with
  bool all_outputs = false;
  std::string output;  // .csv; printed if empty
  std::string masks;   // folder for a mask of each picture; empty: none
};

// Prints or writes a line for each row: its file or number, and what the output holds, as the data
// record of the model says: the best classes with their probabilities, numbers under the name of
// the target, decoded text, or the elements of a vector.
void infer_data(const Model& model, const InferDataOptions& options);

}  // namespace ondine::cli
