#include "graph/training/prepare/updates/gradients.h"

#include "graph/training/prepare/updates/master_weight.h"
#include "graph/training/prepare/updates/rate_groups.h"

namespace ondine::graph {
namespace {

// Max(Min(g, bound), -bound) of each element.
void clip_values(GraphWriter& writer, std::vector<std::string>& gradients,
                 const std::vector<const InitializerDef*>& trained, float bound) {
  constexpr std::int64_t first_with_inputs = 11;
  const bool takes_inputs = writer.opset() >= first_with_inputs;
  ScalarValue upper;
  ScalarValue lower;
  if (takes_inputs) {
    upper.name = writer.scalar("clip.upper", bound, DType::float32);
    lower.name = writer.scalar("clip.lower", -bound, DType::float32);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const DType dtype = updated_type(*trained[i]);
    std::vector<std::string> inputs{gradients[i]};
    Attributes attributes{{"min", -bound}, {"max", bound}};
    if (takes_inputs) {
      inputs.push_back(lower.as(writer, dtype));
      inputs.push_back(upper.as(writer, dtype));
      attributes.clear();
    }
    gradients[i] = writer.node("Clip", std::move(inputs), trained[i]->name + ".bounded",
                               std::move(attributes));
  }
}

// g <- g clip / max(clip, |g|), |g| over all gradients together.
void clip_norm(GraphWriter& writer, std::vector<std::string>& gradients,
               const std::vector<const InitializerDef*>& trained, float clip) {
  std::string sum;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    std::string square = writer.node("ReduceSumSquare", {gradients[i]}, "clip.square",
                                     {{"keepdims", std::int64_t{0}}});
    if (updated_type(*trained[i]) != DType::float32) {
      square = writer.cast(square, DType::float32, "clip.square");
    }
    sum = sum.empty() ? square : writer.node("Add", {sum, square}, "clip.sum");
  }
  const std::string bound = writer.scalar("clip.bound", clip, DType::float32);
  const std::string norm = writer.node("Sqrt", {sum}, "clip.norm");
  const std::string divisor = writer.node("Max", {norm, bound}, "clip.divisor");
  ScalarValue scale{writer.node("Div", {bound, divisor}, "clip.scale")};
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] = writer.node("Mul", {gradients[i], scale.as(writer, updated_type(*trained[i]))},
                               trained[i]->name + ".clipped");
  }
}

}  // namespace

std::vector<std::string> write_gradients(GraphWriter& writer, const LossValues& loss,
                                         const std::vector<const InitializerDef*>& trained,
                                         LossScaler& scaler) {
  const std::string y = scaler.scaled(loss.loss, loss.dtype);
  std::vector<std::string> xs;
  std::vector<std::string> hints;
  for (const InitializerDef* parameter : trained) {
    xs.push_back(parameter->name);
    hints.push_back(parameter->name + ".gradient");
  }
  std::vector<std::string> gradients =
      writer.nodes("Gradient", xs, hints, {{"xs", xs}, {"y", y}}, training_domain);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const DType dtype = updated_type(*trained[i]);
    if (dtype != trained[i]->value.dtype()) {
      gradients[i] = writer.cast(gradients[i], dtype, hints[i] + ".float");
    }
    gradients[i] = scaler.unscaled(gradients[i], dtype, hints[i] + ".unscaled");
  }
  return gradients;
}

void write_clipping(GraphWriter& writer, std::vector<std::string>& gradients,
                    const std::vector<const InitializerDef*>& trained,
                    const PrepareOptions& options) {
  if (options.clip_value) clip_values(writer, gradients, trained, *options.clip_value);
  if (options.clip_norm) clip_norm(writer, gradients, trained, *options.clip_norm);
}

}  // namespace ondine::graph
