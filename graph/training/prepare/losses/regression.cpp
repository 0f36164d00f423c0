#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {
namespace {

// Min broadcasts since version 8.
std::string minimum(GraphWriter& writer, const std::string& distance, const std::string& delta,
                    const PrepareOptions& options) {
  if (writer.opset() >= 8) return writer.node("Min", {distance, delta}, "loss.bounded");
  return writer.node("Clip", {distance}, "loss.bounded", {{"max", options.huber_delta}});
}

// q (|d| - q / 2) with q = min(|d|, delta).
std::string huber_of(GraphWriter& writer, const std::string& distance,
                     const PrepareOptions& options, DType dtype) {
  const std::string delta = writer.scalar("loss.delta", options.huber_delta, dtype);
  const std::string half = writer.scalar("loss.half", 0.5, dtype);
  const std::string q = minimum(writer, distance, delta, options);
  const std::string half_q = writer.node("Mul", {q, half}, "loss.half_bounded");
  const std::string rest = writer.node("Sub", {distance, half_q}, "loss.rest");
  return mean(writer, options, writer.node("Mul", {q, rest}, "loss.each"), dtype);
}

// The label's input, and prediction - label.
std::string difference(GraphWriter& writer, const Prediction& prediction,
                       const PrepareOptions& options) {
  write_label(writer, options.label, prediction.dtype, prediction.dims);
  return writer.node("Sub", {prediction.value, options.label}, "loss.difference");
}

std::string distance(GraphWriter& writer, const Prediction& prediction,
                     const PrepareOptions& options) {
  return writer.node("Abs", {difference(writer, prediction, options)}, "loss.distance");
}

}  // namespace

LossValues mse(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options) {
  const std::string d = difference(writer, prediction, options);
  const std::string each = writer.node("Mul", {d, d}, "loss.each");
  return {mean(writer, options, each, prediction.dtype), {}, prediction.dtype};
}

LossValues mae(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options) {
  const std::string each = distance(writer, prediction, options);
  return {mean(writer, options, each, prediction.dtype), {}, prediction.dtype};
}

LossValues huber(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options) {
  const std::string d = distance(writer, prediction, options);
  return {huber_of(writer, d, options, prediction.dtype), {}, prediction.dtype};
}

}  // namespace ondine::graph
