// Defazio et al. 2024, The Road Less Scheduled, algorithm 1 (AdamW). The parameter is the average
// x; z, which makes the steps, is x + d, with the offset d as state. Thus a parameter that
// something else sets takes z along. Loss and gradient g are those at y = x + (1 - beta1) d. With
// step t and f = rate sqrt(1 - beta2^t):
//   v <- beta2 v + (1 - beta2) g^2, e = d - f (g / (sqrt(v) + epsilon) + decay y)
//   c = f^2 / (sum of f^2 so far), d <- (1 - c) e, x <- x + c e
#include <limits>

#include "core/message.h"
#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/updates/rules.h"

namespace ondine::graph {
namespace {

// c, of the rate without factors of groups.
ScalarValue& write_weight(StepWriter& writer, const std::string& root) {
  return writer.once({"schedule_free.weight"}, [&] {
    // With one dim, since a scalar output would be taken for a metric.
    const Tensor none(DType::float32, Shape{1});
    const std::string squares = writer.state("rate.squares", none);
    const std::string rate = writer.mul(writer.base_rate, root, "rate.corrected");
    const std::string square = writer.mul(rate, rate, "rate.square");
    const std::string next = writer.add(squares, square, writer.next_hint(squares));
    writer.bind(squares, next, none);
    const std::string total = graph::sum(writer.writer(), next, "rate.sum");
    constexpr double smallest = double{std::numeric_limits<float>::min()};
    const std::string divisor = writer.writer().node(
        "Max", {total, writer.number("rate.least", smallest, DType::float32)}, "rate.divisor");
    return writer.div(square, divisor, "average.weight");
  });
}

}  // namespace

Points write_points(GraphWriter& writer, const std::vector<const InitializerDef*>& trained,
                    const ScheduleFree& settings) {
  Points points;
  std::map<DType, std::string> parts;
  for (const InitializerDef* one : trained) {
    const DType dtype = one->value.dtype();
    if (is_low_precision(dtype)) {
      fail(ErrorCode::unsupported, "schedule-free updates of ", dtype, " parameters, such as ",
           quoted(one->name), "; choose adamw");
    }
    std::string& part = parts[dtype];
    if (part.empty()) {
      part = writer.scalar("offset.part", 1 - static_cast<double>(settings.beta1), dtype);
    }
    const std::string offset =
        writer.initializer(one->name + ".offset", Tensor(dtype, one->value.shape()));
    const std::string way = writer.node("Mul", {offset, part}, offset + ".part");
    points.values.emplace(one->name, writer.node("Add", {one->name, way}, one->name + ".point"));
    points.offsets.emplace(one->name, offset);
  }
  points.nodes = writer.graph().nodes.size();
  return points;
}

std::string write_schedule_free(StepWriter& writer, const ParameterStep& step,
                                const ScheduleFree& settings, const Points& points) {
  const DType dtype = step.dtype;
  const std::string& x = step.x;
  const std::string& name = step.parameter->name;
  const std::string& d = points.offsets.at(name);
  const Tensor zeros(dtype, step.shape());
  const std::string v = writer.state(name + ".squares", zeros);
  const std::string square = writer.mul(step.g, step.g, x + ".gradient_square");
  const std::string v_next = writer.blend(v, square, settings.beta2, dtype, writer.next_hint(v));
  writer.bind(v, v_next, zeros);
  const std::string divisor = writer.add(
      writer.apply("Sqrt", v_next, x + ".root"),
      writer.number("epsilon", static_cast<double>(settings.epsilon), dtype), x + ".divisor");
  std::string u = writer.div(step.g, divisor, x + ".update");
  if (step.decay != 0) {
    const std::string decay =
        writer.mul(points.values.at(name),
                   writer.number("decay", static_cast<double>(step.decay), dtype), x + ".decay");
    u = writer.add(u, decay, x + ".decayed_update");
  }
  const ScalarValue& root = writer.once({"schedule_free.root"}, [&] {
    return writer.apply("Sqrt", writer.correction(settings.beta2).name, "correction.root");
  });
  ScalarValue& rate = writer.once({"schedule_free.rate", 0, step.rate}, [&] {
    return writer.mul(step.rate->name, root.name, "rate.step");
  });
  ScalarValue& weight = write_weight(writer, root.name);
  const std::string change = writer.mul(u, rate.as(writer.writer(), dtype), x + ".change");
  const std::string e = writer.sub(d, change, x + ".distance");
  const std::string part = writer.mul(e, weight.as(writer.writer(), dtype), x + ".part");
  const std::string d_next = writer.sub(e, part, writer.next_hint(d));
  writer.bind(d, d_next, zeros);
  // c e once more, as a difference: the nodes that x depends on are then one group.
  const std::string moved = writer.sub(e, d_next, x + ".move");
  return writer.add(x, moved, step.next);
}

}  // namespace ondine::graph
