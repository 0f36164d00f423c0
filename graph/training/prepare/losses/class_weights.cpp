#include <algorithm>

#include "core/message.h"
#include "graph/training/prepare/losses/pieces.h"

namespace ondine::graph {

Tensor class_weight_tensor(const std::vector<float>& weights, DType dtype) {
  Tensor tensor(dtype, {static_cast<std::int64_t>(weights.size())});
  if (dtype == DType::float64) {
    std::copy(weights.begin(), weights.end(), tensor.mutable_values<double>().begin());
  } else {
    std::copy(weights.begin(), weights.end(), tensor.mutable_values<float>().begin());
  }
  return tensor;
}

void require_classes(const Prediction& prediction, std::string_view what) {
  if (!prediction.dims || prediction.dims->size() >= 2) return;
  fail(ErrorCode::mismatch, what, " of rank 2 or more, found rank ", prediction.dims->size(),
       " in ", quoted(prediction.value));
}

void check_class_weights(const Prediction& prediction, const PrepareOptions& options) {
  if (options.class_weights.empty() || !prediction.dims || prediction.dims->size() < 2) return;
  const auto* classes = std::get_if<std::int64_t>(&(*prediction.dims)[1]);
  if (classes == nullptr || *classes == static_cast<std::int64_t>(options.class_weights.size())) {
    return;
  }
  fail(ErrorCode::mismatch, options.class_weights.size(), " class weights for ", *classes,
       " classes in ", quoted(prediction.value));
}

std::string write_class_weights(GraphWriter& writer, const Prediction& prediction,
                                const PrepareOptions& options, DType dtype) {
  if (!prediction.dims) {
    fail(ErrorCode::mismatch, "class weights need the rank of ", quoted(prediction.value),
         ", which is unknown");
  }
  Tensor tensor = class_weight_tensor(options.class_weights, dtype);
  std::vector<std::int64_t> shape(prediction.dims->size() - 1, 1);
  shape[0] = static_cast<std::int64_t>(options.class_weights.size());
  return writer.initializer("loss.weights", tensor.reshaped(Shape(shape)));
}

}  // namespace ondine::graph
