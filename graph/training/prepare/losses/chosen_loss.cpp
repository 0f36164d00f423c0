#include "graph/training/prepare/losses/chosen_loss.h"

#include <algorithm>

#include "core/message.h"
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {

LossInputs find_loss_inputs(ModelDef& model, Names& names, const ValueTypes& types,
                            const PrepareOptions& options, const ModelDef* loss_model,
                            std::size_t class_axis) {
  LossInputs found;
  if (loss_model == nullptr) {
    found.prediction = find_prediction(model, names, types, options, class_axis);
    return found;
  }
  found.matched = match_loss_model(*loss_model, model.graph, types);
  found.prediction.value = found.matched->reads.front();
  found.prediction.dtype = found.matched->dtype;
  found.prediction.reason = found.matched->reason;
  return found;
}

LossValues write_chosen_loss(GraphWriter& writer, ModelDef& model, const LossInputs& inputs,
                             const std::vector<std::string>& values, const PrepareOptions& options,
                             const ModelDef* loss_model) {
  if (inputs.matched) return write_loss_model(writer, model, *loss_model, *inputs.matched, values);
  Prediction prediction = inputs.prediction;
  prediction.value = values.front();
  write_moves(writer, prediction);
  if (is_low_precision(prediction.dtype)) {
    prediction.dtype = DType::float32;
    prediction.value = writer.cast(prediction.value, prediction.dtype, "loss.float");
  }
  if (options.privacy) {
    PrepareOptions counted = options;
    counted.row_weights = true;
    return write_loss(writer, prediction, counted);
  }
  return write_loss(writer, prediction, options);
}

std::string label_name(const LossInputs& inputs, const PrepareOptions& options) {
  if (!inputs.matched) return options.label;
  const auto& labels = inputs.matched->labels;
  const bool has_label = std::any_of(
      labels.begin(), labels.end(), [&](const ValueDef& one) { return one.name == options.label; });
  if (has_label) return options.label;
  return labels.empty() ? std::string() : labels.front().name;
}

std::string accuracy_note(const LossInputs& inputs, const PrepareOptions& options) {
  const Prediction& prediction = inputs.prediction;
  if (inputs.matched || options.accuracy || !traits_of(options).has_class_axis() ||
      writes_accuracy(prediction, options)) {
    return {};
  }
  return cat("there are ", std::get<std::int64_t>((*prediction.dims)[1]),
             " classes: steps give no accuracy, which takes all their scores, unless it is asked "
             "for (--accuracy)");
}

}  // namespace ondine::graph
