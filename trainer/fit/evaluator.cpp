#include "trainer/fit/evaluator.h"

#include <algorithm>
#include <numeric>

#include <ondine/data_record.h>
#include <ondine/metadata.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/record/training_entries.h"
#include "trainer/data/batch_reader.h"
#include "trainer/fit/data_facts.h"
#include "trainer/fit/score/metric_weights.h"
#include "trainer/fit/score/scores.h"
#include "trainer/fit/score/worst_errors.h"
#include "trainer/model/model_impl.h"
#include "trainer/records/evaluation_page.h"
#include "trainer/records/run_facts.h"

namespace ondine::fit {
namespace {

constexpr const char* confusion_metric = "confusion_matrix";

std::vector<PortInfo> with_labels(std::vector<PortInfo> ports, const Scoring& scoring) {
  ports.push_back(scoring.label);
  ports.insert(ports.end(), scoring.lengths.begin(), scoring.lengths.end());
  if (scoring.weights) ports.push_back(*scoring.weights);
  return ports;
}

bool is_label(const Scoring& scoring, const std::string& name) {
  return name == scoring.label.name || (scoring.weights && name == scoring.weights->name) ||
         std::any_of(scoring.lengths.begin(), scoring.lengths.end(),
                     [&](const PortInfo& one) { return one.name == name; });
}

}  // namespace

std::vector<std::string> target_inputs(const Model& model, std::size_t algorithm) {
  const std::vector<PortInfo> main = model.inputs();
  std::vector<std::string> names;
  for (const PortInfo& port : model.algorithm(algorithm).inputs) {
    const bool is_main = std::any_of(main.begin(), main.end(),
                                     [&](const PortInfo& one) { return one.name == port.name; });
    if (!is_main) names.push_back(port.name);
  }
  return names;
}

bool add_confusion(Scoring& scoring, bool wanted) {
  const bool is_there = std::find(scoring.metrics.begin(), scoring.metrics.end(),
                                  confusion_metric) != scoring.metrics.end();
  const bool applies =
      scoring.task == metrics::Task::classes || scoring.task == metrics::Task::binary;
  if (wanted && !is_there && applies) {
    scoring.metrics.emplace_back(confusion_metric);
  }
  return is_there;
}

std::uint64_t for_each_batch(Feeder& feeder, std::uint64_t batch_size,
                             const std::function<void(std::span<const NamedValue>)>& use) {
  data::BatchOrder order;
  order.size = feeder.has_own_sizes() ? 1 : feeder.fixed_batch().value_or(batch_size);
  order.whole_only = feeder.fixed_batch().has_value();
  order.rows.resize(feeder.size());
  std::iota(order.rows.begin(), order.rows.end(), std::uint64_t{0});
  data::BatchReader reader(feeder, std::move(order));
  for (std::uint64_t i = 0; i < reader.batches(); ++i) use(reader.next());
  return reader.rows();
}

}  // namespace ondine::fit

namespace ondine {

Evaluation evaluate(const Model& model, const Dataset& data, const EvaluateOptions& options) {
  return guard_memory("evaluate the model", [&] {
    auto scoring = fit::find_scoring(model, data, options);
    if (!scoring) fail(ErrorCode::mismatch, fit::why_no_scoring(model));
    const bool reports = !options.report.empty();
    if (reports) require_writable(options.report);
    const bool asked = fit::add_confusion(*scoring, reports);
    fit::WorstErrors worst;
    const DataRecord record = data_record(model);
    fit::require_recorded(record, data);
    const std::vector<PortInfo> inputs = fit::with_labels(model.inputs(), *scoring);
    ArrayMap map = options.map;
    if (scoring->weights) map.emplace_back(scoring->weights->name, data.weights());
    Feeder feeder = fit::make_feeder(record, inputs, data, map, {scoring->label.name});
    fit::Scores scores(*scoring);
    const fit::LabelCheck check_labels(model);
    const std::vector<std::string> fetches{scoring->output};
    Evaluation result;
    result.rows = fit::for_each_batch(feeder, options.batch_size, [&](auto batch) {
      NamedValues feeds;
      NamedValues labels;
      for (const NamedValue& feed : batch) {
        (fit::is_label(*scoring, feed.first) ? labels : feeds).push_back(feed);
      }
      check_labels.check(labels, scoring->label.name);
      const Results outputs = model.infer(feeds, fetches);
      scores.add(outputs[0].second.tensor(), labels);
      const auto rows = static_cast<std::uint64_t>(labels[0].second.tensor().shape()[0]);
      if (reports) worst.add(scores.last(), scoring->task, rows, feeds);
    });
    if (scores.count() == 0) {
      fail(ErrorCode::mismatch, scores.ignored() == 0
                                    ? "no whole batch to evaluate"
                                    : "the model ignores every label of the data");
    }
    if (!(scores.weight() > 0)) {
      fail(ErrorCode::mismatch, "the weights of all labels that are evaluated are 0");
    }
    scores.write(result);
    result.note = scoring->note;
    if (!scoring->weights && !record.prediction.weights.empty()) {
      result.note += cat(result.note.empty() ? "" : "; ",
                         "every row counts alike: the data have no weights, as training had");
    }
    for (const std::string& note : fit::input_notes(record, model.inputs(), data, options.map)) {
      result.note += (result.note.empty() ? "" : "; ") + note;
    }
    if (!reports) return result;
    records::write_evaluation_page(options.report, result, worst.errors(),
                                   records::evaluation_facts(model, data));
    for (const fit::WorstError& one : worst.errors()) result.worst.push_back(one.what);
    if (!asked) result.confusion.reset();
    return result;
  });
}

std::vector<std::string> step_metrics(const Model& model, std::size_t algorithm) {
  const std::vector<PortInfo> outputs = model.algorithm(algorithm).outputs;
  std::vector<std::string> others{metadata_of(model, graph::entry::scheduled_rate)};
  for (const auto& [metric, weight] : fit::metric_weights(model, algorithm)) {
    others.push_back(weight);
  }
  // Next values of state. The first output is the loss, which a model may keep as well.
  const auto& step = ModelAccess::impl(model).def.training[algorithm];
  for (const auto& [state, value] : step.update_binding) {
    if (!outputs.empty() && value != outputs.front().name) others.push_back(value);
  }
  std::vector<std::string> result;
  for (const PortInfo& port : outputs) {
    const bool number = port.dtype == DType::float32 || port.dtype == DType::float64;
    const bool is_scalar = number && port.dims && port.dims->empty();
    if (is_scalar && std::ranges::find(others, port.name) == others.end())
      result.push_back(port.name);
  }
  std::stable_partition(result.begin(), result.end(),
                        [](const std::string& name) { return name.starts_with("loss"); });
  return result;
}

}  // namespace ondine
