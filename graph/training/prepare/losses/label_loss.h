// The losses of class labels for opsets before 12, which have no operator for them.
#pragma once

#include <string>

#include "graph/training/prepare/prediction/prediction.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// The first version with operators for losses of class labels.
inline constexpr std::int64_t first_with_label_losses = 12;

// Logarithms of the softmax of logits [N, C, ...], with the classes last.
std::string write_log_softmax(GraphWriter& writer, const Prediction& prediction);

// [N, C, ...] with the classes last.
std::string classes_last(GraphWriter& writer, const std::string& value,
                         const Prediction& prediction);

// The mean over all labels [N, ...] of -log[label], where `log` has the classes last. A label that
// is no class fails the step. Throws Error(mismatch) where the rank is unknown, and before opset 9
// where the number of classes is.
std::string write_label_loss(GraphWriter& writer, const std::string& log, const std::string& label,
                             const Prediction& prediction, DType dtype);

// condition ? a : b, elementwise; before opset 9, which has no Where, as products, so that both
// must be finite.
std::string write_choice(GraphWriter& writer, const std::string& condition, const std::string& a,
                         const std::string& b, DType dtype, const std::string& hint);

}  // namespace ondine::graph
