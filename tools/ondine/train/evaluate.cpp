#include "ondine/train/evaluate.h"

#include <algorithm>

namespace ondine::cli {
namespace {

std::vector<PortInfo> ports_with(const Model& model, const PortInfo& label) {
  std::vector<PortInfo> ports = model.inputs();
  ports.push_back(label);
  return ports;
}

// Number of labels that the largest entry along axis 1 hits. Output [N, C,
// ...], labels [N, ...].
std::int64_t count_hits(const Tensor& output, const Tensor& labels) {
  const Shape& shape = output.shape();
  if (shape.rank() < 2 || output.size() != labels.size() * shape[1]) {
    throw Error(ErrorCode::mismatch, "classes " + shape.to_string() + " do not fit labels " +
                                         labels.shape().to_string());
  }
  const std::int64_t inner = shape.size(2, shape.rank());
  std::int64_t hits = 0;
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    const std::int64_t start = i / inner * shape[1] * inner + i % inner;
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < shape[1]; ++c) {
      if (element_of(output, start + c * inner) > element_of(output, start + best * inner)) {
        best = c;
      }
    }
    if (static_cast<double>(best) == element_of(labels, i)) ++hits;
  }
  return hits;
}

double squared_distance(const Tensor& output, const Tensor& labels) {
  if (output.size() != labels.size()) {
    throw Error(ErrorCode::mismatch, "output " + output.shape().to_string() +
                                         " does not fit labels " + labels.shape().to_string());
  }
  double sum = 0;
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    const double difference = element_of(output, i) - element_of(labels, i);
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

Evaluator::Evaluator(const Model& model, const NamedValues& arrays, const ArrayMap& map,
                     PortInfo label, std::string output)
    : output_(std::move(output)),
      label_(label.name),
      classes_(is_integer(label.dtype)),
      feeder_(ports_with(model, label), arrays, map) {
  const std::vector<PortInfo> outputs = model.outputs();
  if (outputs.empty()) throw Error(ErrorCode::mismatch, "the model has no output");
  if (output_.empty()) output_ = outputs.front().name;
}

std::optional<Score> Evaluator::run(const Model& model, std::uint64_t batch,
                                    const std::function<bool()>& stop) {
  const std::uint64_t step = feeder_.fixed_batch().value_or(batch);
  const std::vector<std::string> fetches{output_};
  std::vector<std::uint64_t> rows;
  double sum = 0;
  std::int64_t count = 0;
  std::uint64_t first = 0;
  for (; first < feeder_.size(); first += step) {
    if (stop()) return {};
    const std::uint64_t last = std::min(first + step, feeder_.size());
    if (last - first < step && feeder_.fixed_batch()) break;
    rows.resize(last - first);
    for (std::uint64_t i = first; i < last; ++i) rows[i - first] = i;
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
  if (count == 0) throw Error(ErrorCode::mismatch, "no whole batch to evaluate");
  return Score{classes_ ? "accuracy" : "mse", sum / static_cast<double>(count),
               std::min(first, feeder_.size())};
}

std::optional<PortInfo> find_label(const Model& model, const NamedValues& arrays,
                                   const ArrayMap& map, const std::string& name) {
  for (std::size_t i = 0; i < model.algorithm_count(); ++i) {
    std::vector<PortInfo> extra = extra_inputs(model, i);
    std::erase_if(extra, [&](const PortInfo& port) {
      return port.has_default || (!name.empty() && port.name != name);
    });
    if (extra.size() == 1) return extra[0];
  }
  std::vector<const NamedValue*> left;
  const Feeder taken(model.inputs(), arrays, map);
  const std::vector<std::string> inputs = taken.inputs();
  for (const NamedValue& array : arrays) {
    const bool is_input = std::find(inputs.begin(), inputs.end(), array.first) != inputs.end() ||
                          std::any_of(map.begin(), map.end(),
                                      [&](const auto& one) { return one.second == array.first; });
    if (name.empty() ? !is_input : array.first == name) left.push_back(&array);
  }
  // Labels have fewer elements than what they belong to.
  std::stable_sort(left.begin(), left.end(), [](const NamedValue* a, const NamedValue* b) {
    return a->second.tensor().size() < b->second.tensor().size();
  });
  if (left.empty()) return {};
  PortInfo label;
  label.name = left[0]->first;
  label.dtype = is_float(left[0]->second.tensor().dtype()) ? DType::float32 : DType::int64;
  return label;
}

}  // namespace ondine::cli
