// Weights of rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/data/column.h"

namespace ondine::data {

// A column of a file of text.
struct Weights {
  // Error(corrupt) naming line and column for a text that is no weight.
  void add(const std::string& text, std::uint64_t line);

  std::string column;  // empty: there is none
  std::vector<double> values;
};

void append(Weights& weights, const Weights& more);
// Adds a column with the numbers as they are, where there is one.
void add_column(Dataset::Part& part, const Weights& weights);

// Makes the column that the options name the weights of the part's rows. Error(not_found) where it
// is not there, Error(mismatch) where it holds other than one number for each row, at least 0, or
// only zeros.
void set_weights(Dataset::Part& part, const DatasetOptions& options);
// Multiplies the weights so that their mean over the rows of the part is 1; for a part whose rows
// were chosen. Error(mismatch) where all are 0.
void scale_weights(Dataset::Part& part);

}  // namespace ondine::data
