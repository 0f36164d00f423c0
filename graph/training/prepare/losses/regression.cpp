#include "graph/training/prepare/losses/losses.h"

namespace ondine::graph {
namespace {

// Min broadcasts since version 8.
std::string minimum(GraphWriter& writer, const std::string& distance, const std::string& delta,
                    const PrepareOptions& options) {
  if (writer.opset() >= 8) return writer.node("Min", {distance, delta}, "loss.bounded");
  return writer.node("Clip", {distance}, "loss.bounded", {{"max", options.huber_delta}});
}

// q (|d| - q / 2) with q = min(|d|, delta).
std::string huber(GraphWriter& writer, const std::string& distance, const PrepareOptions& options,
                  DType dtype) {
  const std::string delta = writer.scalar("loss.delta", options.huber_delta, dtype);
  const std::string half = writer.scalar("loss.half", 0.5, dtype);
  const std::string q = minimum(writer, distance, delta, options);
  const std::string half_q = writer.node("Mul", {q, half}, "loss.half_bounded");
  const std::string rest = writer.node("Sub", {distance, half_q}, "loss.rest");
  return mean(writer, options, writer.node("Mul", {q, rest}, "loss.each"), dtype);
}

std::string mean_error(GraphWriter& writer, const Prediction& prediction,
                       const PrepareOptions& options) {
  const std::string d = writer.node("Sub", {prediction.value, options.label}, "loss.difference");
  const DType dtype = prediction.dtype;
  if (options.loss == Loss::mse) {
    return mean(writer, options, writer.node("Mul", {d, d}, "loss.each"), dtype);
  }
  const std::string distance = writer.node("Abs", {d}, "loss.distance");
  return options.loss == Loss::mae ? mean(writer, options, distance, dtype)
                                   : huber(writer, distance, options, dtype);
}

}  // namespace

LossValues regression(GraphWriter& writer, const Prediction& prediction,
                      const PrepareOptions& options) {
  write_label(writer, options.label, prediction.dtype, prediction.dims);
  return {mean_error(writer, prediction, options), {}, prediction.dtype};
}

}  // namespace ondine::graph
