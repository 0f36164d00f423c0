// 1 - x t / (|x| |t|) along the last axis. A vector shorter than 1e-8 has no direction: its loss is
// 1 and its derivative 0.
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {
namespace {

struct Length {
  std::string value;
  std::string is_zero;
};

std::string last_axis_sum(GraphWriter& writer, const std::string& value, const std::string& hint) {
  return reduce(writer, "ReduceSum", value, {-1}, false, hint);
}

Length length_of(GraphWriter& writer, const std::string& x, DType dtype) {
  const std::string squares =
      last_axis_sum(writer, writer.node("Mul", {x, x}, "loss.square"), "loss.squares");
  const std::string least = writer.scalar("loss.least", 1e-16, dtype);
  Length length;
  length.is_zero = writer.node("Less", {squares, least}, "loss.is_zero");
  const std::string one = writer.scalar("loss.one", 1, dtype);
  const std::string bounded = writer.node("Where", {length.is_zero, one, squares}, "loss.bounded");
  length.value = writer.node("Sqrt", {bounded}, "loss.length");
  return length;
}

}  // namespace

LossValues cosine(GraphWriter& writer, const Prediction& prediction,
                  const PrepareOptions& options) {
  require_opset(writer, 11, "the cosine loss");
  const auto [x, t, dtype] = write_compared(writer, prediction, options);
  const std::string dot =
      last_axis_sum(writer, writer.node("Mul", {x, t}, "loss.product"), "loss.dot");
  const Length of_x = length_of(writer, x, dtype);
  const Length of_t = length_of(writer, t, dtype);
  const std::string lengths = writer.node("Mul", {of_x.value, of_t.value}, "loss.lengths");
  const std::string ratio = writer.node("Div", {dot, lengths}, "loss.ratio");
  const std::string none = writer.node("Or", {of_x.is_zero, of_t.is_zero}, "loss.no_direction");
  const std::string zero = writer.scalar("loss.zero", 0, dtype);
  const std::string cosine = writer.node("Where", {none, zero, ratio}, "loss.cosine");
  const std::string one = writer.scalar("loss.one", 1, dtype);
  const std::string each = writer.node("Sub", {one, cosine}, "loss.each");
  return {mean(writer, options, each, dtype), {}, dtype};
}

}  // namespace ondine::graph
