// w_y (1 - p_y)^gamma (-log p_y), the mean over labels.
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {
namespace {

// 1 - p_y as the sum of the other probabilities, which keeps its digits where p_y is close to 1.
std::string other_probability(GraphWriter& writer, const std::string& x, const std::string& label,
                              DType dtype) {
  const std::string p = writer.node("Exp", {log_softmax(writer, x, 1)}, "loss.probability");
  Tensor values = class_weight_tensor({1, 0}, dtype);
  const std::string others = writer.node(
      "OneHot",
      {label, size_of(writer, x, 1), writer.initializer("loss.others", std::move(values))},
      "loss.is_other", {{"axis", std::int64_t{1}}});
  const std::string product = writer.node("Mul", {p, others}, "loss.other_probabilities");
  return reduce(writer, "ReduceSum", product, {1}, false, "loss.other_probability");
}

// q^gamma; below the smallest normal number its derivative is 0, which is infinite at q = 0 for
// gamma < 1.
std::string power(GraphWriter& writer, const std::string& q, float gamma, DType dtype) {
  if (gamma == 1) return q;
  const std::string least = writer.scalar("loss.least", least_of(dtype), dtype);
  const std::string below = writer.node("Less", {q, least}, "loss.below");
  const std::string bounded = writer.node("Where", {below, least, q}, "loss.bounded");
  return writer.node("Pow", {bounded, writer.scalar("loss.gamma", gamma, dtype)}, "loss.factor");
}

}  // namespace

LossValues focal(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options) {
  require_opset(writer, 12, "the focal loss");
  check_class_weights(prediction, options);
  write_class_label(writer, prediction, options, "the focal loss needs logits");
  LossValues result{{}, {}, prediction.dtype};
  const std::string& x = prediction.value;
  std::vector<std::string> inputs{x, options.label};
  if (!options.class_weights.empty()) {
    inputs.push_back(writer.initializer("loss.class_weights",
                                        class_weight_tensor(options.class_weights, result.dtype)));
  }
  std::string each = writer.node("SoftmaxCrossEntropyLoss", std::move(inputs), "loss.entropy",
                                 {{"reduction", std::string("none")}});
  if (options.focal_gamma != 0) {
    const std::string q = other_probability(writer, x, options.label, result.dtype);
    each = writer.node("Mul", {power(writer, q, options.focal_gamma, result.dtype), each},
                       "loss.each");
  }
  result.loss = mean(writer, options, each, result.dtype);
  result.accuracy = write_accuracy(writer, prediction, options.label, options);
  return result;
}

}  // namespace ondine::graph
