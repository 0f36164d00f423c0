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
  // A batch of `rows` rows, which follow those of the batches before. Left out unless each row has
  // one label.
  void add(const metrics::Batch& batch, metrics::Task task, std::uint64_t rows,
           std::span<const NamedValue> feeds);
  // The least probable label first; of equal ones the earlier row.
  const std::vector<WorstError>& errors() const noexcept { return errors_; }

 private:
  void add_labels(const metrics::Batch& batch, std::span<const NamedValue> feeds);

  std::vector<WorstError> errors_;
  std::uint64_t first_ = 0;  // row of the next batch
};

// Row `row` of the first tensor of `feeds` that is a batch of images, one or three channels before
// or after two spatial axes, as a PNG file; numbers other than bytes go from the least as black to
// the largest as white. Empty where there is none.
std::string picture_of(std::span<const NamedValue> feeds, std::int64_t row);

}  // namespace ondine::fit
