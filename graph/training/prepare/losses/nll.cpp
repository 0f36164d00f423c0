// -log p of the labels, of probabilities or of their logarithms.
#include "graph/training/prepare/losses/label_loss.h"
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {

LossValues nll(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options) {
  write_class_label(writer, prediction, options, "negative log likelihood needs probabilities");
  const DType dtype = prediction.dtype;
  std::string log = prediction.value;
  if (!prediction.is_log) log = clamped_log(writer, log, dtype);
  LossValues result;
  if (options.row_weights) {
    require_opset(writer, first_with_label_losses, weighted_rows);
    const std::string each = writer.node("NegativeLogLikelihoodLoss", {log, options.label},
                                         "loss.each", {{"reduction", std::string("none")}});
    result.loss = mean(writer, options, each, dtype);
  } else if (writer.opset() >= first_with_label_losses) {
    result.loss = writer.node("NegativeLogLikelihoodLoss", {log, options.label}, "loss");
  } else {
    result.loss = write_label_loss(writer, classes_last(writer, log, prediction), options.label,
                                   prediction, dtype);
  }
  result.dtype = dtype;
  result.accuracy = write_accuracy(writer, prediction, options.label, options);
  return result;
}

}  // namespace ondine::graph
