#include "trainer/fit/score/scoring.h"

#include <algorithm>

#include <ondine/data.h>
#include <ondine/data_record.h>

#include "core/message.h"
#include "trainer/data/text/beside_ids.h"
#include "trainer/fit/data_facts.h"
#include "trainer/fit/score/decode_sequences.h"
#include "trainer/fit/score/prediction.h"
#include "trainer/metrics/catalogue.h"

namespace ondine::fit {
namespace {

using metrics::Task;

constexpr std::size_t most_unnamed_classes = 256;

bool has_name(const std::vector<PortInfo>& ports, std::string_view name) {
  return std::any_of(ports.begin(), ports.end(),
                     [&](const PortInfo& port) { return port.name == name; });
}

std::int64_t elements_of_row(const PortInfo& column) {
  std::int64_t count = 1;
  for (std::size_t i = 1; i < column.dims->size(); ++i) count *= (*column.dims)[i];
  return count;
}

std::optional<PortInfo> label_of_algorithm(const Model& model, const DataRecord& record,
                                           const std::string& name) {
  const std::string& weights = record.prediction.weights;
  const std::vector<PortInfo> main = model.inputs();
  for (std::size_t i = 0; i < model.algorithm_count(); ++i) {
    std::vector<PortInfo> extra = model.algorithm(i).inputs;
    std::erase_if(extra, [&](const PortInfo& port) {
      return has_name(main, port.name) || port.has_default || port.name == data::segment_ids ||
             (!weights.empty() && port.name == weights) || (!name.empty() && port.name != name);
    });
    if (extra.size() == 1) return extra[0];
  }
  return {};
}

// The column that fed the labels in training, or of the name that the label has.
std::string recorded_label(const DataRecord& record, const std::vector<PortInfo>& columns) {
  const std::string& label = record.prediction.label;
  const DataRecord::Input* known = record.find_input(label);
  if (known != nullptr && has_name(columns, known->column)) return known->column;
  return has_name(columns, label) ? label : std::string();
}

std::optional<PortInfo> label_among_columns(const Model& model, const DataRecord& record,
                                            const Dataset& data, const EvaluateOptions& options) {
  const std::vector<PortInfo> columns = data.columns();
  std::string name = options.label;
  if (name.empty()) name = recorded_label(record, columns);
  if (name.empty()) name = data.target();
  const ArrayMap map = recorded_map(record, model.inputs(), data, options.map);
  const std::vector<std::string> inputs = Feeder(model.inputs(), data, map).inputs();
  std::optional<PortInfo> label;
  for (const PortInfo& column : columns) {
    const bool is_input = std::find(inputs.begin(), inputs.end(), column.name) != inputs.end() ||
                          std::any_of(map.begin(), map.end(),
                                      [&](const auto& one) { return one.second == column.name; });
    if (name.empty() ? is_input : column.name != name) continue;
    if (column.dims->empty() || column.name == data.weights()) continue;
    // Labels have fewer elements than what they belong to.
    if (!label || elements_of_row(column) < elements_of_row(*label)) label = column;
  }
  if (!label) return {};
  PortInfo port;
  port.name = label->name;
  port.dtype = is_float(label->dtype) ? DType::float32 : DType::int64;
  return port;
}

PortInfo weights_port(const DataRecord& record) {
  PortInfo port;
  port.name = record.prediction.weights.empty() ? "weights of rows" : record.prediction.weights;
  port.dtype = DType::float64;
  port.type = "tensor(double)";
  port.dims = std::vector<std::int64_t>{-1};
  return port;
}

bool is_one_score(const Model& model, const std::string& output) {
  for (const PortInfo& port : model.outputs()) {
    if (port.name != output || !port.dims) continue;
    return port.dims->size() == 1 || (port.dims->size() == 2 && (*port.dims)[1] == 1);
  }
  return false;
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

void add_lengths(Scoring& scoring, std::int64_t blank) {
  for (const char* suffix : length_suffixes) {
    PortInfo port;
    port.name = scoring.label.name + suffix;
    port.dtype = DType::int64;
    port.type = "tensor(int64)";
    scoring.lengths.push_back(port);
  }
  scoring.blank = blank;
}

bool is_integer_output(const Model& model, const std::string& output) {
  const std::vector<PortInfo> outputs = model.outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&](const PortInfo& port) {
    return port.name == output && (is_integer(port.dtype) || port.dtype == DType::boolean);
  });
}

void choose_task(const Model& model, const DataRecord::Prediction& prediction, Scoring& scoring) {
  const std::optional<Task> task = task_of_loss(prediction.loss);
  if (!task) {
    assume_task(model, scoring);
  } else {
    scoring.task = *task;
    const bool is_labels = *task == Task::classes || *task == Task::sequences;
    scoring.label.dtype = is_labels ? DType::int64 : DType::float32;
  }
  scoring.is_decided = is_integer_output(model, scoring.output) &&
                       (scoring.task == Task::classes || scoring.task == Task::binary);
  if (scoring.is_decided) {
    // Labels of more than two classes are compared with the class that the model decided on.
    scoring.task = Task::classes;
    scoring.label.dtype = DType::int64;
    scoring.note = {};
    return;
  }
  if (scoring.task == Task::sequences) add_lengths(scoring, prediction.ctc_blank);
  const bool reads_sign =
      prediction.meaning == OutputMeaning::logits || prediction.meaning == OutputMeaning::margins;
  if (scoring.task == Task::binary && reads_sign) scoring.threshold = 0;
  const bool needs_softmax = prediction.meaning == OutputMeaning::logits ||
                             prediction.meaning == OutputMeaning::next_token ||
                             prediction.meaning == OutputMeaning::log_probabilities;
  if (scoring.task == Task::classes && needs_softmax) scoring.probabilities = false;
}

void choose_metrics(const std::string& loss, const std::vector<std::string>& names,
                    Scoring& scoring) {
  scoring.metrics = names;
  if (!names.empty()) {
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

// Sets the number of classes: the largest of the number of names, the size of a new head and the
// scores that the model also gives. A model that tells none of them has as many as labels may have.
void count_classes(const Model& model, const DataRecord& record, const Dataset& data,
                   Scoring& scoring) {
  for (const std::string& name : scoring.metrics) metrics::require_no_scores(name, scoring.output);
  scoring.class_count = std::max<std::size_t>(
      {record.classes.size(), static_cast<std::size_t>(record.class_count), data.classes().size()});
  for (const PortInfo& port : model.outputs()) {
    const bool has_scores = is_float(port.dtype) && port.dims && port.dims->size() == 2;
    if (has_scores && (*port.dims)[1] > 1) {
      scoring.class_count =
          std::max(scoring.class_count, static_cast<std::size_t>((*port.dims)[1]));
    }
  }
  scoring.class_count_is_assumed = scoring.class_count == 0;
  if (scoring.class_count_is_assumed) scoring.class_count = most_unnamed_classes;
}

std::optional<std::int64_t> ignored_label(const DataRecord::Prediction& prediction,
                                          const Dataset& data, const EvaluateOptions& options,
                                          Task task) {
  const std::optional<std::int64_t>& trained = prediction.ignored_label;
  if (options.ignore_index) {
    if (task != Task::classes) {
      fail(ErrorCode::mismatch, "an ignored label (", *options.ignore_index,
           ") has no effect: the labels are no classes");
    }
    if (trained && *trained != *options.ignore_index) {
      fail(ErrorCode::mismatch, "label ", *options.ignore_index,
           " is to be ignored, the model was prepared to ignore ", *trained);
    }
    return options.ignore_index;
  }
  if (trained) return trained;
  const std::optional<TextOptions>& text = data.text();
  if (task == Task::classes && text && text->next.rows) return text->next.ignored_label;
  return {};
}

// Labels in files are read in the size of the output.
void take_label_size(const Model& model, const Dataset& data, Scoring& scoring) {
  if (scoring.label.dims) return;
  const std::vector<PortInfo> columns = data.columns();
  const bool has_size = std::none_of(columns.begin(), columns.end(), [&](const PortInfo& column) {
    return column.name == scoring.label.name && column.dims && column.dims->size() == 3 &&
           (column.dims->at(1) < 0 || column.dims->at(2) < 0);
  });
  if (has_size) return;
  for (const PortInfo& output : model.outputs()) {
    if (output.name != scoring.output || !output.dims || output.dims->size() != 4) continue;
    std::vector<std::int64_t> dims = *output.dims;
    const std::int64_t axis = scoring.class_axis.value_or(1);
    if (scoring.task == Task::classes) dims.erase(dims.begin() + (axis < 0 ? axis + 4 : axis));
    dims[0] = -1;
    scoring.label.dims = std::move(dims);
  }
}

}  // namespace

std::string why_no_scoring(const Model& model) {
  const std::string loss = data_record(model).prediction.loss;
  if (has_no_score(loss)) {
    return "no metric compares outputs with the labels of the loss " + loss +
           "; the training loop evaluates the loss itself";
  }
  return "no array is left for the labels; name one: --label";
}

std::optional<Scoring> find_scoring(const Model& model, const Dataset& data,
                                    const EvaluateOptions& options) {
  require_metrics(model, options.metrics);
  const DataRecord record = data_record(model);
  const DataRecord::Prediction prediction = find_prediction(model, record, options.output);
  if (has_no_score(prediction.loss)) return {};
  Scoring scoring;
  scoring.output = prediction.output;
  const bool is_sequences = task_of_loss(prediction.loss) == Task::sequences;
  auto label = label_of_algorithm(
      model, record, is_sequences && options.label.empty() ? prediction.label : options.label);
  if (!label) label = label_among_columns(model, record, data, options);
  if (!label) return {};
  scoring.label = *label;
  if (!data.weights().empty()) scoring.weights = weights_port(record);
  choose_task(model, prediction, scoring);
  choose_metrics(prediction.loss, options.metrics, scoring);
  if (scoring.is_decided) count_classes(model, record, data, scoring);
  scoring.ignored_label = ignored_label(prediction, data, options, scoring.task);
  if (scoring.task != Task::regression) {
    scoring.class_names = data.classes().empty() ? record.classes : data.classes();
  }
  if (scoring.task == Task::sequences && scoring.class_names.empty() &&
      !record.text.encoding.empty()) {
    for (int byte = 0; byte < 256; ++byte) {
      scoring.class_names.emplace_back(1, static_cast<char>(byte));
    }
  }
  scoring.class_axis = options.class_axis ? options.class_axis : prediction.class_axis;
  take_label_size(model, data, scoring);
  return scoring;
}

void require_metrics(const Model& model, const std::vector<std::string>& names) {
  metrics::require_known(names);
  const std::string loss = data_record(model).prediction.loss;
  if (const std::optional<Task> task = task_of_loss(loss)) {
    metrics::require_task(names, *task, "the model's loss is " + loss);
  }
}

}  // namespace ondine::fit
