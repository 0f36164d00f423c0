#include "trainer/fit/scoring.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include <ondine/data.h>
#include <ondine/metadata.h>

#include "core/message.h"
#include "trainer/metrics/catalogue.h"

namespace ondine::fit {
namespace {

using metrics::Task;

bool has_name(const std::vector<PortInfo>& ports, std::string_view name) {
  return std::any_of(ports.begin(), ports.end(),
                     [&](const PortInfo& port) { return port.name == name; });
}

std::int64_t elements_of_row(const PortInfo& column) {
  std::int64_t count = 1;
  for (std::size_t i = 1; i < column.dims->size(); ++i) count *= (*column.dims)[i];
  return count;
}

std::optional<PortInfo> label_of_algorithm(const Model& model, const std::string& name) {
  const std::vector<PortInfo> main = model.inputs();
  for (std::size_t i = 0; i < model.algorithm_count(); ++i) {
    std::vector<PortInfo> extra = model.algorithm(i).inputs;
    std::erase_if(extra, [&](const PortInfo& port) {
      return has_name(main, port.name) || port.has_default || (!name.empty() && port.name != name);
    });
    if (extra.size() == 1) return extra[0];
  }
  return {};
}

std::optional<PortInfo> label_among_columns(const Model& model, const Dataset& data,
                                            const ArrayMap& map, std::string name) {
  const std::vector<PortInfo> columns = data.columns();
  const std::string prepared = metadata_of(model, "ondine.label");
  if (name.empty() && has_name(columns, prepared)) name = prepared;
  const std::vector<std::string> inputs = Feeder(model.inputs(), data, map).inputs();
  std::optional<PortInfo> label;
  for (const PortInfo& column : columns) {
    const bool is_input = std::find(inputs.begin(), inputs.end(), column.name) != inputs.end() ||
                          std::any_of(map.begin(), map.end(),
                                      [&](const auto& one) { return one.second == column.name; });
    if (name.empty() ? is_input : column.name != name) continue;
    if (column.dims->empty()) continue;
    // Labels have fewer elements than what they belong to.
    if (!label || elements_of_row(column) < elements_of_row(*label)) label = column;
  }
  if (!label) return {};
  PortInfo port;
  port.name = label->name;
  port.dtype = is_float(label->dtype) ? DType::float32 : DType::int64;
  return port;
}

bool is_one_score(const Model& model, const std::string& output) {
  for (const PortInfo& port : model.outputs()) {
    if (port.name != output || !port.dims) continue;
    return port.dims->size() == 1 || (port.dims->size() == 2 && (*port.dims)[1] == 1);
  }
  return false;
}

// Of the loss that the metadata names; nothing where it names none.
std::optional<Task> task_of_loss(const std::string& loss) {
  if (loss == "softmax-cross-entropy" || loss == "nll" || loss == "focal") return Task::classes;
  if (loss == "bce" || loss == "bce-probabilities" || loss == "dice" || loss == "hinge") {
    return Task::binary;
  }
  if (loss == "ctc") return Task::sequences;
  if (loss == "mse" || loss == "mae" || loss == "huber") return Task::regression;
  return {};
}

void assume_task(const Model& model, Scoring& scoring) {
  const std::string unknown = "the model does not say what loss it was trained with; ";
  if (!is_integer(scoring.label.dtype)) {
    scoring.task = Task::regression;
    scoring.note = unknown + "its output is compared with the labels as numbers";
  } else if (is_one_score(model, scoring.output)) {
    scoring.task = Task::binary;
    scoring.note = unknown + "its output is taken for the probability of label 1";
  } else {
    scoring.task = Task::classes;
    scoring.note = unknown + "its output is taken for scores of classes";
  }
}

// Losses whose labels are not what an output is compared with element by element.
bool has_no_score(const std::string& loss) {
  for (const char* one : {"soft-cross-entropy", "kl", "cosine", "triplet", "contrastive"}) {
    if (loss == one) return true;
  }
  return false;
}

void add_lengths(const Model& model, Scoring& scoring) {
  for (const char* suffix : {"_lengths", "_input_lengths"}) {
    PortInfo port;
    port.name = scoring.label.name + suffix;
    port.dtype = DType::int64;
    port.type = "tensor(int64)";
    scoring.lengths.push_back(port);
  }
  const std::string blank = metadata_of(model, "ondine.ctc_blank");
  std::from_chars(blank.data(), blank.data() + blank.size(), scoring.blank);
}

void choose_task(const Model& model, Scoring& scoring) {
  const std::string loss = metadata_of(model, "ondine.loss");
  const std::optional<Task> task = task_of_loss(loss);
  if (!task) return assume_task(model, scoring);
  scoring.task = *task;
  const bool is_labels = *task == Task::classes || *task == Task::sequences;
  scoring.label.dtype = is_labels ? DType::int64 : DType::float32;
  if (*task == Task::sequences) add_lengths(model, scoring);
  const bool is_prediction = metadata_of(model, "ondine.prediction") == scoring.output;
  // These losses read logits; another output is made of them.
  if (!is_prediction || loss == "nll" || loss == "bce-probabilities") return;
  if (*task == Task::binary) scoring.threshold = 0;
  if (*task == Task::classes) scoring.probabilities = false;
}

std::optional<std::int64_t> recorded_class_axis(const Model& model, const std::string& output) {
  if (metadata_of(model, "ondine.class_axis_of") != output) return {};
  const std::string text = metadata_of(model, "ondine.class_axis");
  std::int64_t axis = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), axis);
  if (error != std::errc() || end != text.data() + text.size() || axis < 1) return {};
  return axis;
}

void choose_metrics(const Model& model, const std::vector<std::string>& names, Scoring& scoring) {
  scoring.metrics = names;
  if (!names.empty()) {
    const std::string loss = metadata_of(model, "ondine.loss");
    metrics::require_known(names);
    metrics::require_task(names, scoring.task,
                          scoring.note.empty() ? "the model's loss is " + loss : scoring.note);
  } else if (scoring.task == Task::sequences) {
    scoring.metrics = {"cer"};
  } else if (scoring.task == Task::regression) {
    scoring.metrics = {"mse", "mae"};
  } else {
    scoring.metrics = {"accuracy"};
  }
}

}  // namespace

std::string why_no_scoring(const Model& model) {
  const std::string loss = metadata_of(model, "ondine.loss");
  if (has_no_score(loss)) {
    return "no metric compares outputs with the labels of the loss " + loss +
           "; the training loop evaluates the loss itself";
  }
  return "no array is left for the labels; name one: --label";
}

std::optional<Scoring> find_scoring(const Model& model, const Dataset& data,
                                    const EvaluateOptions& options) {
  require_metrics(model, options.metrics);
  const std::vector<PortInfo> outputs = model.outputs();
  if (outputs.empty()) fail(ErrorCode::mismatch, "the model has no output");
  if (has_no_score(metadata_of(model, "ondine.loss"))) return {};
  Scoring scoring;
  scoring.output = options.output.empty() ? outputs.front().name : options.output;
  const bool is_sequences = task_of_loss(metadata_of(model, "ondine.loss")) == Task::sequences;
  auto label = label_of_algorithm(model, is_sequences && options.label.empty()
                                             ? metadata_of(model, "ondine.label")
                                             : options.label);
  if (!label) label = label_among_columns(model, data, options.map, options.label);
  if (!label) return {};
  scoring.label = *label;
  choose_task(model, scoring);
  choose_metrics(model, options.metrics, scoring);
  if (scoring.task != Task::regression) {
    scoring.class_names = data.classes().empty() ? class_names(model) : data.classes();
  }
  if (scoring.task == Task::sequences && scoring.class_names.empty() &&
      !metadata_of(model, "ondine.text_encoding").empty()) {
    for (int byte = 0; byte < 256; ++byte) {
      scoring.class_names.emplace_back(1, static_cast<char>(byte));
    }
  }
  scoring.class_axis =
      options.class_axis ? options.class_axis : recorded_class_axis(model, scoring.output);
  return scoring;
}

void require_metrics(const Model& model, const std::vector<std::string>& names) {
  metrics::require_known(names);
  const std::string loss = metadata_of(model, "ondine.loss");
  if (const std::optional<Task> task = task_of_loss(loss)) {
    metrics::require_task(names, *task, "the model's loss is " + loss);
  }
}

}  // namespace ondine::fit
