#include "trainer/fit/score/prediction.h"

#include <algorithm>

#include <ondine/losses.h>

#include "core/message.h"
#include "graph/record/meaning.h"

namespace ondine::fit {

using metrics::Task;

DataRecord::Prediction find_prediction(const Model& model, const DataRecord& record,
                                       const std::string& output) {
  const std::vector<PortInfo> outputs = model.outputs();
  const auto is_output = [&](const std::string& name) {
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](const PortInfo& port) { return port.name == name; });
  };
  if (outputs.empty()) fail(ErrorCode::mismatch, "the model has no output");
  DataRecord::Prediction found = record.prediction;
  if (!output.empty() && !is_output(output)) {
    fail(ErrorCode::mismatch, "the model has no output ", quoted(output));
  }
  const std::string recorded = found.output;
  found.output = output;
  for (const std::string* one : {&recorded, &record.prediction.class_axis_of,
                                 &record.prediction.value, &outputs.front().name}) {
    if (found.output.empty() && is_output(*one)) found.output = *one;
  }
  if (found.output != recorded || found.meaning == OutputMeaning::unknown) {
    found.meaning = found.output == found.value ? graph::meaning_of_loss(found.loss)
                                                : graph::meaning_behind(found.loss);
  }
  if (found.class_axis_of != found.output) found.class_axis.reset();
  return found;
}

std::optional<Task> task_of_loss(const std::string& loss) {
  const LossFacts* facts = find_loss(loss);
  if (facts == nullptr) return {};
  switch (facts->labels) {
    case LossLabels::classes:
      return Task::classes;
    case LossLabels::binary:
    case LossLabels::signs:
      return Task::binary;
    case LossLabels::sequences:
      return Task::sequences;
    case LossLabels::numbers:
      return Task::regression;
    case LossLabels::probabilities:
    case LossLabels::vectors:
    case LossLabels::groups:
      break;
  }
  return {};
}

bool has_no_score(const std::string& loss) {
  return find_loss(loss) != nullptr && !task_of_loss(loss);
}

}  // namespace ondine::fit
