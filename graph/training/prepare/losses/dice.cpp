// 1 - (2 sum p t + 1) / (sum p + sum t + 1) with p = sigmoid(x): sums over the positions of each
// example and channel, the mean over these. Of rank 2 the positions are axis 1.
#include "core/message.h"
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {

LossValues dice(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options) {
  if (!prediction.dims || prediction.dims->size() < 2) {
    fail(ErrorCode::mismatch, "the dice loss needs logits of a known rank of 2 or more, found ",
         prediction.dims ? cat("rank ", prediction.dims->size()) : "an unknown one", " in ",
         quoted(prediction.value));
  }
  std::vector<std::int64_t> positions;
  for (std::size_t i = prediction.dims->size() == 2 ? 1 : 2; i < prediction.dims->size(); ++i) {
    positions.push_back(static_cast<std::int64_t>(i));
  }
  const auto [x, t, dtype] = write_compared(writer, prediction, options);
  const auto total = [&](const std::string& value, const std::string& hint) {
    return reduce(writer, "ReduceSum", value, positions, false, hint);
  };
  const std::string p = writer.node("Sigmoid", {x}, "loss.probability");
  const std::string one = writer.scalar("loss.one", 1, dtype);
  const std::string two = writer.scalar("loss.two", 2, dtype);
  const std::string overlap =
      total(writer.node("Mul", {p, t}, "loss.product"), "loss.intersection");
  const std::string twice = writer.node("Mul", {overlap, two}, "loss.twice");
  const std::string both =
      writer.node("Add", {total(p, "loss.predicted"), total(t, "loss.wanted")}, "loss.both");
  const std::string ratio = writer.node("Div",
                                        {writer.node("Add", {twice, one}, "loss.numerator"),
                                         writer.node("Add", {both, one}, "loss.denominator")},
                                        "loss.dice");
  const std::string each = writer.node("Sub", {one, ratio}, "loss.each");
  return {mean(writer, options, each, dtype), {}, dtype};
}

}  // namespace ondine::graph
