#include "trainer/fit/evaluator.h"

#include <algorithm>
#include <numeric>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/fit/scores.h"

namespace ondine::fit {
namespace {

bool has_name(const std::vector<PortInfo>& ports, std::string_view name) {
  return std::any_of(ports.begin(), ports.end(),
                     [&](const PortInfo& port) { return port.name == name; });
}

std::vector<PortInfo> with(std::vector<PortInfo> ports, const PortInfo& label) {
  ports.push_back(label);
  return ports;
}

std::int64_t elements_of_row(const PortInfo& column) {
  std::int64_t count = 1;
  for (std::size_t i = 1; i < column.dims->size(); ++i) count *= (*column.dims)[i];
  return count;
}

}  // namespace

std::vector<std::string> metric_names(const Model& model, std::size_t algorithm) {
  std::vector<std::string> result;
  for (const PortInfo& port : model.algorithm(algorithm).outputs) {
    const bool number = port.dtype == DType::float32 || port.dtype == DType::float64;
    if (number && port.dims && port.dims->empty()) result.push_back(port.name);
  }
  std::stable_partition(result.begin(), result.end(),
                        [](const std::string& name) { return name.starts_with("loss"); });
  return result;
}

std::optional<PortInfo> find_label(const Model& model, const Dataset& data, const ArrayMap& map,
                                   const std::string& name) {
  const std::vector<PortInfo> main = model.inputs();
  for (std::size_t i = 0; i < model.algorithm_count(); ++i) {
    std::vector<PortInfo> extra = model.algorithm(i).inputs;
    std::erase_if(extra, [&](const PortInfo& port) {
      return has_name(main, port.name) || port.has_default || (!name.empty() && port.name != name);
    });
    if (extra.size() == 1) return extra[0];
  }
  const std::vector<std::string> inputs = Feeder(main, data, map).inputs();
  std::optional<PortInfo> label;
  for (const PortInfo& column : data.columns()) {
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

Evaluator::Evaluator(const Model& model, const Dataset& data, const PortInfo& label,
                     const EvaluateOptions& options)
    : options_(options),
      label_(label.name),
      classes_(is_integer(label.dtype)),
      feeder_(with(model.inputs(), label), data, options.map) {
  const std::vector<PortInfo> outputs = model.outputs();
  if (outputs.empty()) fail(ErrorCode::mismatch, "the model has no output");
  if (options_.output.empty()) options_.output = outputs.front().name;
}

std::vector<std::string> Evaluator::names() const { return {classes_ ? "accuracy" : "mse"}; }

Evaluation Evaluator::run(const Model& model) {
  const std::uint64_t step = feeder_.fixed_batch().value_or(options_.batch_size);
  const std::vector<std::string> fetches{options_.output};
  std::vector<std::uint64_t> rows;
  double sum = 0;
  std::int64_t count = 0;
  std::uint64_t first = 0;
  for (; first < feeder_.size(); first += step) {
    const std::uint64_t last = std::min(first + step, feeder_.size());
    if (last - first < step && feeder_.fixed_batch()) break;
    rows.resize(last - first);
    std::iota(rows.begin(), rows.end(), first);
    NamedValues feeds;
    Tensor labels;
    for (const NamedValue& feed : feeder_.take(rows)) {
      if (feed.first == label_) {
        labels = feed.second.tensor();
      } else {
        feeds.push_back(feed);
      }
    }
    const NamedValues outputs = model.infer(feeds, fetches);
    const Tensor& output = outputs[0].second.tensor();
    sum += classes_ ? static_cast<double>(count_hits(output, labels))
                    : squared_distance(output, labels);
    count += labels.size();
  }
  if (count == 0) fail(ErrorCode::mismatch, "no whole batch to evaluate");
  Evaluation result;
  result.metrics.set(names()[0], sum / static_cast<double>(count));
  result.rows = std::min(first, feeder_.size());
  return result;
}

}  // namespace ondine::fit

namespace ondine {

Evaluation evaluate(const Model& model, const Dataset& data, const EvaluateOptions& options) {
  return guard_memory("evaluate the model", [&] {
    const auto label = fit::find_label(model, data, options.map, options.label);
    if (!label) {
      fail(ErrorCode::mismatch, "no array is left for the labels; name one: --label");
    }
    fit::Evaluator evaluator(model, data, *label, options);
    return evaluator.run(model);
  });
}

}  // namespace ondine
