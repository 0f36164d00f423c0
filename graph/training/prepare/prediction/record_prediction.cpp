#include "graph/training/prepare/prediction/record_prediction.h"

#include <algorithm>

#include <ondine/losses.h>

#include "graph/record/meaning.h"
#include "graph/record/record.h"
#include "graph/training/prepare/head/cut.h"
#include "graph/training/prepare/losses/table.h"
#include "graph/training/prepare/uses.h"

namespace ondine::graph {
namespace {

bool is_output(const GraphDef& main, const std::string& value) {
  return std::any_of(main.outputs.begin(), main.outputs.end(),
                     [&](const ValueDef& output) { return output.name == value; });
}

// The output that was asked for, else the first that is computed from what the loss reads.
std::string judged_output(const GraphDef& main, const Prediction& prediction) {
  for (const std::string* one : {&prediction.asked, &prediction.value}) {
    if (is_output(main, *one)) return *one;
  }
  const Strings after = values_after(main, prediction.value);
  for (const ValueDef& output : main.outputs) {
    const bool is_tensor = output.type.kind == TypeKind::tensor;
    if (is_tensor && is_float(output.type.dtype) && after.contains(output.name)) return output.name;
  }
  return {};
}

// Meaning of an output behind the value that the loss reads, by the last operator that computes.
OutputMeaning meaning_of(const GraphDef& main, const std::string& output,
                         const Prediction& prediction, const std::string& loss) {
  const OutputMeaning read =
      prediction.is_log ? OutputMeaning::log_probabilities : meaning_of_loss(loss);
  const Producers producers = producers_of(main);
  std::string value = output;
  while (value != prediction.value) {
    const NodeDef* node = standard_producer(producers, value);
    if (node == nullptr) return meaning_behind(loss);
    if (node->op == "LogSoftmax") return OutputMeaning::log_probabilities;
    if (node->op == "Softmax" || node->op == "Sigmoid") return OutputMeaning::probabilities;
    if (!only_moves(*node) || node->inputs.empty()) return meaning_behind(loss);
    value = node->inputs[0];
  }
  return read;
}

bool has_classes(const PrepareOptions& options) {
  const LossFacts* facts = find_loss(name_of(options));
  return facts != nullptr && facts->labels == LossLabels::classes;
}

}  // namespace

void record_prediction(ModelDef& model, const LossInputs& inputs, const PrepareOptions& options) {
  DataRecord record = read_record(model.metadata);
  const Prediction& prediction = inputs.prediction;
  DataRecord::Prediction& to = record.prediction;
  to = {};
  to.loss = name_of(options);
  to.value = prediction.value;
  to.label = label_name(inputs, options);
  if (options.row_weights) to.weights = weights_name(options);
  if (has_loss_model(options)) {
    for (const std::string& one : inputs.values()) {
      if (to.output.empty() && is_output(model.graph, one)) to.output = one;
    }
  } else {
    to.output = judged_output(model.graph, prediction);
    if (!to.output.empty()) {
      to.meaning = meaning_of(model.graph, to.output, prediction, to.loss);
    }
  }
  if (has_classes(options)) {
    to.class_axis = static_cast<std::int64_t>(prediction.class_axis);
    to.class_axis_of = prediction.asked;
  }
  to.ignored_label = options.ignore_index;
  if (traits_of(options).is_sequence()) to.ctc_blank = options.ctc_blank;
  record.inputs.clear();
  record.data = {};
  write_record(model.metadata, record);
}

}  // namespace ondine::graph
