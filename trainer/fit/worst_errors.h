// The rows that a classifier gets most wrong, and what they look like.
#pragma once

#include <string>
#include <vector>

#include <ondine/value.h>

#include "trainer/metrics/metric.h"

namespace ondine::fit {

struct WorstError {
  WrongPrediction what;
  std::string picture;  // a PNG file; empty where no input holds images
};

class WorstErrors {
 public:
  // A batch of the rows from `first` on, with one label each.
  void add(const metrics::Batch& batch, std::uint64_t first, std::span<const NamedValue> feeds);
  // The least probable label first; of equal ones the earlier row.
  const std::vector<WorstError>& errors() const noexcept { return errors_; }

 private:
  std::vector<WorstError> errors_;
};

// Row `row` of the first tensor of `feeds` that is a batch of images, one or three channels before
// or after two spatial axes, as a PNG file; numbers other than bytes go from the least as black to
// the largest as white. Empty where there is none.
std::string picture_of(std::span<const NamedValue> feeds, std::int64_t row);

}  // namespace ondine::fit
