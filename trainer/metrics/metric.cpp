#include "trainer/metrics/metric.h"

#include <cmath>

#include "core/message.h"

namespace ondine::metrics {

std::string name_of_class(const std::string& metric, std::size_t index, const Context& context) {
  const bool named = index < context.class_names.size();
  return metric + "[" + (named ? context.class_names[index] : std::to_string(index)) + "]";
}

std::size_t class_of(const Batch& batch, std::size_t row) {
  const double label = batch.labels[row];
  const bool is_class =
      label >= 0 && label < static_cast<double>(batch.columns) && label == std::trunc(label);
  if (!is_class) {
    fail(ErrorCode::mismatch, "label ", label, " is none of the ", batch.columns,
         " classes that the output has",
         label < 0 ? "; where it does not count: --ignore-index (EvaluateOptions::ignore_index)"
                   : "");
  }
  return static_cast<std::size_t>(label);
}

}  // namespace ondine::metrics
