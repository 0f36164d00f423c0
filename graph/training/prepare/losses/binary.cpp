// Losses of independent true or false labels: cross entropy of logits and of probabilities, hinge.
#include <cmath>
#include <limits>

#include "graph/training/prepare/losses/label_loss.h"
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {

// softplus(x) - x z: its derivative sigmoid(x) - z holds at x = 0 too.
LossValues bce_with_logits(GraphWriter& writer, const Prediction& prediction,
                           const PrepareOptions& options) {
  write_label(writer, options.label, prediction.dtype, prediction.dims);
  const std::string& x = prediction.value;
  const std::string product = writer.node("Mul", {x, options.label}, "loss.product");
  const std::string softplus = writer.node("Softplus", {x}, "loss.softplus");
  const std::string each = writer.node("Sub", {softplus, product}, "loss.each");
  return {mean(writer, options, each, prediction.dtype), {}, prediction.dtype};
}

std::string clamped_log(GraphWriter& writer, const std::string& p, DType dtype) {
  const double least =
      dtype == DType::float64 ? std::exp(-100.0) : double{std::numeric_limits<float>::min()};
  const std::string bound = writer.scalar("loss.least", least, dtype);
  const std::string lowest = writer.scalar("loss.lowest", -100, dtype);
  const std::string below = writer.node("Less", {p, bound}, "loss.below");
  const std::string bounded = write_choice(writer, below, bound, p, dtype, "loss.bounded");
  const std::string log = writer.node("Log", {bounded}, "loss.log");
  return write_choice(writer, below, lowest, log, dtype, "loss.clamped_log");
}

// - t log(p) - (1 - t) log(1 - p)
LossValues bce_probabilities(GraphWriter& writer, const Prediction& prediction,
                             const PrepareOptions& options) {
  const auto [p, t, dtype] = write_compared(writer, prediction, options);
  const std::string one = writer.scalar("loss.one", 1, dtype);
  const std::string q = writer.node("Sub", {one, p}, "loss.complement");
  const std::string rest = writer.node("Sub", {one, t}, "loss.other_label");
  const std::string hit = writer.node("Mul", {t, clamped_log(writer, p, dtype)}, "loss.hit");
  const std::string miss = writer.node("Mul", {rest, clamped_log(writer, q, dtype)}, "loss.miss");
  const std::string both = writer.node("Add", {hit, miss}, "loss.log_likelihood");
  return {mean(writer, options, writer.node("Neg", {both}, "loss.each"), dtype), {}, dtype};
}

// max(0, 1 - x t)
LossValues hinge(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options) {
  const auto [x, t, dtype] = write_compared(writer, prediction, options);
  const std::string one = writer.scalar("loss.one", 1, dtype);
  const std::string product = writer.node("Mul", {x, t}, "loss.product");
  const std::string margin = writer.node("Sub", {one, product}, "loss.margin");
  return {mean(writer, options, writer.node("Relu", {margin}, "loss.each"), dtype), {}, dtype};
}

}  // namespace ondine::graph
