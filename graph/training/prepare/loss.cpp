#include "graph/training/prepare/loss.h"

#include <algorithm>

#include "core/message.h"
#include "graph/training/prepare/losses/table.h"
#include "graph/training/prepare/parameters/paths.h"

namespace ondine::graph {

void require_opset(const GraphWriter& writer, std::int64_t needed, std::string_view what) {
  if (writer.opset() >= needed) return;
  fail(ErrorCode::unsupported, what, " needs ai.onnx ", needed, ", the model imports ai.onnx ",
       writer.opset(), "; convert the model to a newer opset first");
}

namespace {

// A name that the output has twice is believed the first time: PyTorch's exporter may call other
// axes by the batch's name.
void open_repeated_names(std::vector<DimDef>& dims) {
  Strings seen;
  for (DimDef& dim : dims) {
    const auto* name = std::get_if<DimName>(&dim);
    if (name != nullptr && !seen.insert(*name).second) dim = std::monostate();
  }
}

}  // namespace

void write_label(GraphWriter& writer, const std::string& name, DType dtype,
                 std::optional<std::vector<DimDef>> dims) {
  if (dims) open_repeated_names(*dims);
  if (writer.names().contains(name)) {
    fail(ErrorCode::mismatch, "the model already has a value named ", quoted(name),
         "; choose another name for the label");
  }
  ValueDef label;
  label.name = writer.names().fresh(name);
  label.type = tensor_type(dtype, std::move(dims));
  writer.graph().inputs.push_back(std::move(label));
}

bool writes_accuracy(const Prediction& prediction, const PrepareOptions& options) {
  constexpr std::int64_t most_classes = 1000;
  if (options.accuracy) return *options.accuracy;
  if (!prediction.dims || prediction.dims->size() < 2) return true;
  const auto* const classes = std::get_if<std::int64_t>(&(*prediction.dims)[1]);
  return classes == nullptr || *classes <= most_classes;
}

std::string write_accuracy(GraphWriter& writer, const Prediction& prediction,
                           const std::string& label, const PrepareOptions& options) {
  if (!writes_accuracy(prediction, options)) return {};
  const std::string best = writer.node("ArgMax", {prediction.value}, "loss.best",
                                       {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
  const std::string hit = writer.node("Equal", {best, label}, "loss.hit");
  const std::string number = writer.cast(hit, DType::float32, "loss.hit_number");
  return mean(writer, options, number, DType::float32, "accuracy");
}

// Classes are axis 1 of the prediction.
void write_class_label(GraphWriter& writer, const Prediction& prediction,
                       const PrepareOptions& options, std::string_view what) {
  require_classes(prediction, what);
  std::optional<std::vector<DimDef>> dims = prediction.dims;
  if (dims) dims->erase(dims->begin() + 1);
  write_label(writer, options.label, DType::int64, std::move(dims));
}

namespace {

// One for each row.
void write_weights(GraphWriter& writer, const Prediction& prediction,
                   const PrepareOptions& options) {
  require_opset(writer, 7, weighted_rows);
  std::vector<DimDef> dims(1);
  const bool has_default = options.privacy.has_value();  // a 1 for all rows
  if (!has_default && prediction.dims && !prediction.dims->empty()) {
    dims[0] = prediction.dims->front();
  }
  write_label(writer, weights_name(options), prediction.dtype, std::move(dims));
  if (!has_default) return;
  InitializerDef& all = writer.graph().initializers.emplace_back();
  all.name = weights_name(options);
  all.value = class_weight_tensor({1}, prediction.dtype);
}

// Inputs are named in the order in which people think of them: labels first.
void move_weights_last(GraphWriter& writer, const PrepareOptions& options) {
  auto& inputs = writer.graph().inputs;
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const ValueDef& one) {
    return one.name == weights_name(options);
  });
  std::rotate(found, found + 1, inputs.end());
}

// Rows of batches may have different numbers of labels, as texts of different lengths.
bool has_open_rows(const GraphWriter& writer, const std::string& label) {
  for (const ValueDef& input : writer.graph().inputs) {
    if (input.name != label || !input.type.dims) continue;
    const auto& dims = *input.type.dims;
    return dims.size() > 1 && std::any_of(dims.begin() + 1, dims.end(), [](const DimDef& dim) {
             return !std::holds_alternative<std::int64_t>(dim);
           });
  }
  return false;
}

void count_labels(GraphWriter& writer, LossValues& values, const PrepareOptions& options) {
  if (traits_of(options).mean_of != LossMean::labels || !has_open_rows(writer, options.label))
    return;
  const bool counts_hits = !values.accuracy.empty() && values.accuracy_weight.empty();
  if (!values.loss_weight.empty() && !counts_hits) return;
  const std::string size = writer.node("Size", {options.label}, "loss.label_count");
  if (values.loss_weight.empty()) {
    values.loss_weight = writer.cast(size, values.dtype, "loss_weight");
  }
  if (counts_hits) values.accuracy_weight = writer.cast(size, DType::float32, "accuracy_weight");
}

void write_outputs(GraphWriter& writer, const LossValues& values) {
  const auto write = [&](const std::string& value, DType dtype) {
    if (!value.empty()) writer.output(value, dtype, std::vector<DimDef>{});
  };
  write(values.loss, values.dtype);
  write(values.accuracy, DType::float32);
  write(values.loss_weight, values.dtype);
  write(values.accuracy_weight, DType::float32);
}

}  // namespace

LossValues write_loss(GraphWriter& writer, const Prediction& prediction,
                      const PrepareOptions& options) {
  if (options.row_weights) write_weights(writer, prediction, options);
  LossValues result = traits_of(options).write(writer, prediction, options);
  count_labels(writer, result, options);
  if (options.row_weights) move_weights_last(writer, options);
  write_outputs(writer, result);
  return result;
}

}  // namespace ondine::graph
