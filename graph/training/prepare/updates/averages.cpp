#include "graph/training/prepare/updates/averages.h"

namespace ondine::graph {

ScalarValue write_average_weight(GraphWriter& writer, const WeightAverage& average,
                                 const std::string& next_step) {
  const std::string one = writer.scalar("average.one", 1, DType::float32);
  std::string count = writer.cast(next_step, DType::float32, "average.step");
  if (average.from != 0) {
    const std::string from =
        writer.scalar("average.from", static_cast<double>(average.from), DType::float32);
    const std::string since = writer.node("Sub", {count, from}, "average.since");
    count = writer.node("Max", {since, one}, "average.count");
  }
  const std::string share = writer.node("Div", {one, count}, "average.share");
  const std::string least =
      writer.scalar("average.least", 1 - static_cast<double>(average.decay), DType::float32);
  return {writer.node("Max", {share, least}, "average.weight")};
}

AverageState write_average(GraphWriter& writer, const InitializerDef& parameter, DType dtype,
                           const std::string& next, ScalarValue& weight) {
  const std::string& name = parameter.name;
  AverageState state;
  state.initial = Tensor(dtype, parameter.value.shape());
  state.name = writer.initializer(name + ".average", state.initial);
  const std::string change = writer.node("Sub", {next, state.name}, name + ".average.distance");
  const std::string part =
      writer.node("Mul", {change, weight.as(writer, dtype)}, name + ".average.change");
  state.next = writer.node("Add", {state.name, part}, name + ".average.next");
  return state;
}

}  // namespace ondine::graph
