#include "graph/training/prepare_loss.h"

#include "core/message.h"
#include "graph/training/prepare_parameters.h"
#include "graph/training/prepare_paths.h"

namespace ondine::graph {
namespace {

void require_opset(const GraphWriter& writer, std::int64_t needed, std::string_view what) {
  if (writer.opset() >= needed) return;
  fail(ErrorCode::unsupported, what, " needs ai.onnx ", needed, ", the model imports ai.onnx ",
       writer.opset(), "; convert the model to a newer opset first");
}

// Softmax over the classes, axis 1.
bool over_classes(const NodeDef& node, const Prediction& prediction, std::int64_t opset) {
  const Attribute* attribute = find(node.attributes, "axis");
  const auto* given = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->data);
  const std::int64_t axis = given != nullptr ? *given : opset >= 13 ? -1 : 1;
  const std::size_t rank = prediction.dims ? prediction.dims->size() : 2;
  if (opset < 13) return rank == 2 && (axis == 1 || axis == -1);
  return axis == 1 || axis + static_cast<std::int64_t>(rank) == 1;
}

// A name that the output has twice is believed the first time: PyTorch's exporter may call other
// axes by the batch's name.
void open_repeated_names(std::vector<DimDef>& dims) {
  Strings seen;
  for (DimDef& dim : dims) {
    const auto* name = std::get_if<DimName>(&dim);
    if (name != nullptr && !seen.insert(*name).second) dim = std::monostate();
  }
}

void write_label(GraphWriter& writer, const PrepareOptions& options, DType dtype,
                 std::optional<std::vector<DimDef>> dims) {
  if (dims) open_repeated_names(*dims);
  if (writer.names().contains(options.label)) {
    fail(ErrorCode::mismatch, "the model already has a value named ", quoted(options.label),
         "; choose another name for the label");
  }
  ValueDef label;
  label.name = writer.names().fresh(options.label);
  label.type = tensor_type(dtype, std::move(dims));
  writer.graph().inputs.push_back(std::move(label));
}

std::string mean(GraphWriter& writer, const std::string& value) {
  return writer.node("ReduceMean", {value}, "loss", {{"keepdims", std::int64_t{0}}});
}

std::string write_accuracy(GraphWriter& writer, const Prediction& prediction,
                           const std::string& label) {
  const std::string best = writer.node("ArgMax", {prediction.value}, "loss.best",
                                       {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
  const std::string hit = writer.node("Equal", {best, label}, "loss.hit");
  const std::string number = writer.cast(hit, DType::float32, "loss.hit_number");
  return writer.node("ReduceMean", {number}, "accuracy", {{"keepdims", std::int64_t{0}}});
}

LossValues cross_entropy(GraphWriter& writer, const Prediction& prediction,
                         const PrepareOptions& options) {
  require_opset(writer, 12, "softmax cross entropy");
  std::optional<std::vector<DimDef>> dims = prediction.dims;
  if (dims) {
    if (dims->size() < 2) {
      fail(ErrorCode::mismatch, "softmax cross entropy needs logits of rank 2 or more, found rank ",
           dims->size(), " in ", quoted(prediction.value));
    }
    dims->erase(dims->begin() + 1);
  }
  write_label(writer, options, DType::int64, std::move(dims));
  LossValues result;
  result.loss = writer.node("SoftmaxCrossEntropyLoss", {prediction.value, options.label}, "loss");
  if (options.accuracy) result.accuracy = write_accuracy(writer, prediction, options.label);
  return result;
}

// softplus(x) - x z: its derivative sigmoid(x) - z holds at x = 0 too.
std::string binary_cross_entropy(GraphWriter& writer, const std::string& x,
                                 const std::string& label) {
  const std::string product = writer.node("Mul", {x, label}, "loss.product");
  const std::string softplus = writer.node("Softplus", {x}, "loss.softplus");
  return mean(writer, writer.node("Sub", {softplus, product}, "loss.each"));
}

// q (|d| - q / 2) with q = min(|d|, delta).
std::string huber(GraphWriter& writer, const std::string& distance, const PrepareOptions& options,
                  DType dtype) {
  require_opset(writer, 8, "the Huber loss");
  const std::string delta = writer.scalar("loss.delta", options.huber_delta, dtype);
  const std::string half = writer.scalar("loss.half", 0.5, dtype);
  const std::string q = writer.node("Min", {distance, delta}, "loss.bounded");
  const std::string half_q = writer.node("Mul", {q, half}, "loss.half_bounded");
  const std::string rest = writer.node("Sub", {distance, half_q}, "loss.rest");
  return mean(writer, writer.node("Mul", {q, rest}, "loss.each"));
}

std::string regression(GraphWriter& writer, const Prediction& prediction,
                       const PrepareOptions& options) {
  const std::string d = writer.node("Sub", {prediction.value, options.label}, "loss.difference");
  if (options.loss == Loss::mse) return mean(writer, writer.node("Mul", {d, d}, "loss.each"));
  const std::string distance = writer.node("Abs", {d}, "loss.distance");
  return options.loss == Loss::mae ? mean(writer, distance)
                                   : huber(writer, distance, options, prediction.dtype);
}

}  // namespace

Prediction find_prediction(const GraphDef& main, std::int64_t opset,
                           const PrepareOptions& options) {
  if (main.outputs.empty()) fail(ErrorCode::mismatch, "the model has no output");
  const ValueDef* output = options.output.empty() ? &main.outputs.front() : nullptr;
  for (const ValueDef& one : main.outputs) {
    if (output == nullptr && one.name == options.output) output = &one;
  }
  if (output == nullptr) {
    fail(ErrorCode::mismatch, "the model has no output ", quoted(options.output));
  }
  Prediction result{output->name, output->type.dtype, output->type.dims};
  if (output->type.kind != TypeKind::tensor || !is_differentiable(result.dtype)) {
    fail(ErrorCode::mismatch, "a loss needs a floating point tensor, output ", quoted(output->name),
         " is ", output->type.kind == TypeKind::tensor ? "of type " : "none",
         output->type.kind == TypeKind::tensor ? to_string(result.dtype) : std::string_view());
  }
  const Producers producers = producers_of(main);
  const auto producer = producers.find(result.value);
  if (producer == producers.end() || !producer->second->domain.empty()) return result;
  const NodeDef& last = *producer->second;
  const bool contained =
      options.loss == Loss::softmax_cross_entropy
          ? (last.op == "Softmax" || last.op == "LogSoftmax") && over_classes(last, result, opset)
          : options.loss == Loss::bce_with_logits && last.op == "Sigmoid";
  if (contained && !last.inputs.empty()) result.value = last.inputs[0];
  return result;
}

LossValues write_loss(GraphWriter& writer, const Prediction& prediction,
                      const PrepareOptions& options) {
  LossValues result;
  if (options.loss == Loss::softmax_cross_entropy) {
    result = cross_entropy(writer, prediction, options);
  } else {
    write_label(writer, options, prediction.dtype, prediction.dims);
    result.loss = options.loss == Loss::bce_with_logits
                      ? binary_cross_entropy(writer, prediction.value, options.label)
                      : regression(writer, prediction, options);
  }
  writer.output(result.loss, prediction.dtype, std::vector<DimDef>{});
  if (!result.accuracy.empty()) {
    writer.output(result.accuracy, DType::float32, std::vector<DimDef>{});
  }
  return result;
}

}  // namespace ondine::graph
