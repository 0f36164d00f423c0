// Losses of label probabilities: cross entropy and the Kullback-Leibler divergence.
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {
namespace {

// How often the largest entries along axis 1 of prediction and label are the same.
std::string soft_accuracy(GraphWriter& writer, const Prediction& prediction,
                          const std::string& label, const PrepareOptions& options) {
  const std::string best = writer.node("ArgMax", {label}, "loss.label_best",
                                       {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
  return write_accuracy(writer, prediction, best, options);
}

// t (1 - e) + e / C
std::string smoothed(GraphWriter& writer, const std::string& label, DType dtype,
                     float label_smoothing) {
  if (label_smoothing == 0) return label;
  const double e{label_smoothing};
  const std::string classes = writer.cast(size_of(writer, label, 1), dtype, "loss.classes");
  const std::string share =
      writer.node("Div", {writer.scalar("loss.smoothing", e, dtype), classes}, "loss.share");
  const std::string kept = writer.scalar("loss.kept", 1 - e, dtype);
  return writer.node("Add", {writer.node("Mul", {label, kept}, "loss.kept_label"), share},
                     "loss.smoothed_label");
}

// t log t, 0 where t is 0.
std::string entropy(GraphWriter& writer, const std::string& label, DType dtype) {
  const std::string zero = writer.scalar("loss.zero", 0, dtype);
  const std::string one = writer.scalar("loss.one", 1, dtype);
  const std::string positive = writer.node("Greater", {label, zero}, "loss.positive");
  const std::string bounded = writer.node("Where", {positive, label, one}, "loss.bounded_label");
  const std::string log = writer.node("Log", {bounded}, "loss.label_log");
  return writer.node("Mul", {label, log}, "loss.entropy");
}

}  // namespace

// The mean over labels of - sum_c w_c t_c log p_c.
LossValues soft_cross_entropy(GraphWriter& writer, const Prediction& prediction,
                              const PrepareOptions& options) {
  require_opset(writer, 9, "cross entropy of label probabilities");
  require_classes(prediction, "softmax cross entropy needs logits");
  check_class_weights(prediction, options);
  const auto [x, label, dtype] = write_compared(writer, prediction, options);
  const std::string t = smoothed(writer, label, dtype, options.label_smoothing);
  std::string each = writer.node("Mul", {t, log_softmax(writer, x, 1)}, "loss.product");
  if (!options.class_weights.empty()) {
    const std::string weights = write_class_weights(writer, prediction, options, dtype);
    each = writer.node("Mul", {each, weights}, "loss.weighted");
  }
  const std::string sums = reduce(writer, "ReduceSum", each, {1}, false, "loss.log_likelihood");
  const std::string losses = writer.node("Neg", {sums}, "loss.each");
  LossValues result{mean(writer, options, losses, dtype), {}, dtype};
  if (writes_accuracy(prediction, options))
    result.accuracy = soft_accuracy(writer, prediction, label, options);
  return result;
}

// The sum of t (log t - log p) over the size of the batch.
LossValues kl(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options) {
  require_opset(writer, 9, "the Kullback-Leibler divergence");
  require_classes(prediction, "the Kullback-Leibler divergence needs logits");
  const auto [x, t, dtype] = write_compared(writer, prediction, options);
  const std::string product = writer.node("Mul", {t, log_softmax(writer, x, 1)}, "loss.product");
  const std::string each = weigh_rows(
      writer, options, writer.node("Sub", {entropy(writer, t, dtype), product}, "loss.divergence"),
      dtype);
  const std::string batch = writer.cast(size_of(writer, x, 0), dtype, "loss.batch");
  LossValues result{mean_of_some(writer, sum(writer, each, "loss.sum"), batch, dtype), {}, dtype};
  if (writes_accuracy(prediction, options))
    result.accuracy = soft_accuracy(writer, prediction, t, options);
  return result;
}

}  // namespace ondine::graph
