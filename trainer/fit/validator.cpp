#include <algorithm>

#include "core/message.h"
#include "trainer/fit/data_facts.h"
#include "trainer/fit/evaluator.h"
#include "trainer/fit/run_state.h"
#include "trainer/fit/score/metric_values.h"
#include "trainer/fit/score/metric_weights.h"
#include "trainer/fit/score/scores.h"
#include "trainer/model/model_impl.h"

namespace ondine::fit {
namespace {

// Rows at once: an evaluation keeps no values for derivatives, so more than in a step.
constexpr std::uint64_t evaluation_batch = 256;

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<PortInfo> without(std::vector<PortInfo> ports, const NamedValues& constants) {
  std::erase_if(ports, [&](const PortInfo& port) {
    return std::any_of(constants.begin(), constants.end(),
                       [&](const NamedValue& one) { return one.first == port.name; });
  });
  return ports;
}

const Tensor* find(std::span<const NamedValue> values, std::string_view name) {
  for (const auto& [key, value] : values) {
    if (key == name) return &value.tensor();
  }
  return nullptr;
}

double sum_of(const Tensor& weights) {
  double sum = 0;
  for (const double one : metric_values(weights)) sum += one;
  return sum;
}

// Inference reads a row as one text: the texts of packed rows are told apart by the algorithm
// alone.
bool is_packed(const Dataset& data) { return data.text() && data.text()->next.pack; }

double as_double(std::uint64_t count) { return static_cast<double>(count); }

}  // namespace

void require_new(const Model& model, const TrainerOptions& options,
                 std::span<const OwnMetric> others, const OwnMetric& metric) {
  if (metric.name.empty() || !metric.begin || !metric.add || !metric.value) {
    fail(ErrorCode::mismatch, "a metric needs a name and its three functions");
  }
  std::vector<std::string> taken = evaluation_metrics();
  for (const std::string& name : step_metrics(model, options.algorithm)) taken.push_back(name);
  for (const OwnMetric& one : others) taken.push_back(one.name);
  if (contains(taken, metric.name)) {
    fail(ErrorCode::mismatch, "there is a metric ", quoted(metric.name), " already");
  }
}

Validator::Validator(const Model& model, const Dataset& data, const TrainerOptions& options,
                     const NamedValues& constants, std::span<const OwnMetric> own)
    : algorithm_(options.algorithm),
      batch_size_(std::max(options.batch_size, evaluation_batch)),
      constants_(constants),
      own_(own),
      check_labels_(model),
      feeder_(make_feeder(data_record(model),
                          without(model.algorithm(options.algorithm).inputs, constants), data,
                          options.map, target_inputs(model, options.algorithm))) {
  const std::vector<std::string>& evaluated = ModelAccess::evaluated(model, algorithm_);
  for (const std::string& name : step_metrics(model, algorithm_)) {
    if (contains(evaluated, name)) metrics_.push_back(name);
  }
  names_ = metrics_;
  for (auto& one : metric_weights(model, algorithm_)) {
    const bool is_known = contains(metrics_, one.first) && contains(evaluated, one.second);
    if (is_known) counted_.push_back(std::move(one));
  }
  fetch_metrics();
  add_scores(model, data, options);
  add_own(model);
  if (!fetches_.empty()) try_first_batch(model);
}

void Validator::fetch_metrics() {
  fetches_ = metrics_;
  for (const auto& [metric, weight] : counted_) fetches_.push_back(weight);
}

void Validator::add_scores(const Model& model, const Dataset& data, const TrainerOptions& options) {
  asked_ = !options.metrics.empty();
  if (is_packed(data) && (asked_ || !own_.empty())) {
    fail(ErrorCode::mismatch,
         "metrics of the network's outputs are of rows of one text: the validation data are packed "
         "(--pack)");
  }
  if (!data.weights().empty()) weights_ = data_record(model).prediction.weights;
  if (model.outputs().empty() || is_packed(data)) return;
  EvaluateOptions evaluate_options;
  evaluate_options.map = options.map;
  evaluate_options.metrics = options.metrics;
  evaluate_options.class_axis = options.class_axis;
  scoring_ = find_scoring(model, data, evaluate_options);
  const bool has_labels = scoring_ && contains(feeder_.inputs(), scoring_->label.name);
  if (!has_labels && asked_) {
    fail(ErrorCode::mismatch, "metrics need labels, which the training algorithm does not read");
  }
  shows_errors_ = has_labels && !options.report.empty() && scoring_->task == metrics::Task::classes;
  if (!has_labels || (is_computed() && !shows_errors_)) {
    scoring_.reset();
    return;
  }
  if (!contains(fetches_, scoring_->output)) fetches_.push_back(scoring_->output);
}

// Metrics of the caller and what they read.
void Validator::add_own(const Model& model) {
  for (const OwnMetric& one : own_) {
    names_.push_back(one.name);
    std::vector<std::string> read = one.outputs;
    if (read.empty() && !model.outputs().empty()) read.push_back(model.outputs()[0].name);
    for (const std::string& name : read) {
      if (!contains(fetches_, name)) fetches_.push_back(name);
    }
  }
}

// Whether the algorithm computes all the metrics itself.
bool Validator::is_computed() const {
  return std::all_of(scoring_->metrics.begin(), scoring_->metrics.end(),
                     [&](const std::string& name) { return contains(metrics_, name); });
}

// Where the main output and the labels have shapes that do not fit, there are no scores unless they
// were asked for.
void Validator::try_first_batch(const Model& model) {
  const std::uint64_t count = feeder_.fixed_batch().value_or(std::min(batch_size_, feeder_.size()));
  if (count == 0 || count > feeder_.size()) {
    fail(ErrorCode::mismatch, "the validation data has ", feeder_.size(),
         " rows, less than one batch");
  }
  std::vector<std::uint64_t> rows(count);
  for (std::uint64_t i = 0; i < count; ++i) rows[i] = i;
  const auto batch = feeder_.take(rows);
  const Results results = evaluate(model, batch);
  if (!scoring_) return;
  const Tensor& labels = *find(batch, scoring_->label.name);
  const Tensor& output = results[scoring_->output].tensor();
  Scores scores(*scoring_);
  const std::string problem = scores.misfit(output.shape(), labels.shape());
  if (problem.empty()) {
    scores.add(output, batch);
    Evaluation first;
    scores.write(first);
    for (const auto& [name, value] : first.metrics) {
      if (!contains(names_, name)) names_.push_back(name);
    }
    return;
  }
  if (asked_) fail(ErrorCode::mismatch, problem);
  scoring_.reset();
  fetch_metrics();
  for (const OwnMetric& one : own_) std::erase(names_, one.name);
  add_own(model);
}

Results Validator::evaluate(const Model& model, std::span<const NamedValue> batch) {
  check_labels_(batch);
  feeds_.assign(batch.begin(), batch.end());
  feeds_.insert(feeds_.end(), constants_.begin(), constants_.end());
  return model.eval_step(feeds_, algorithm_, fetches_);
}

// The mean weight is 1 unless whole batches alone were evaluated, which leave rows out.
void Validator::take_mean_weight(Metrics& computed, double mean) const {
  if (!feeder_.fixed_batch()) return;
  if (!(mean > 0)) fail(ErrorCode::mismatch, "the weights of all whole validation batches are 0");
  for (const std::string& name : metrics_) computed.set(name, computed[name] / mean);
}

Evaluation Validator::run(const Model& model, WorstErrors* worst) {
  MetricSums sums(metrics_);
  std::optional<Scores> scores;
  if (scoring_) scores.emplace(*scoring_);
  for (const OwnMetric& one : own_) one.begin();
  Evaluation result;
  double total = 0;  // of weights
  result.rows = for_each_batch(feeder_, batch_size_, [&](std::span<const NamedValue> batch) {
    const Results results = evaluate(model, batch);
    Metrics means;
    Metrics counts;
    for (const std::string& name : metrics_) means.set(name, results.scalar(name));
    for (const auto& [metric, weight] : counted_) counts.set(metric, results.scalar(weight));
    const auto rows = static_cast<std::uint64_t>(batch[0].second.tensor().shape()[0]);
    sums.add(means, rows, counts);
    if (!weights_.empty()) total += sum_of(*find(batch, weights_));
    for (const OwnMetric& one : own_) one.add(results, batch);
    if (!scores) return;
    scores->add(results[scoring_->output].tensor(), batch);
    if (worst != nullptr && shows_errors_) worst->add(scores->last(), scoring_->task, rows, batch);
  });
  Evaluation computed;
  if (scores) scores->write(computed);
  sums.require_labels();
  sums.mean(computed.metrics);  // an algorithm's own metric counts
  if (!weights_.empty()) take_mean_weight(computed.metrics, total / as_double(result.rows));
  for (const OwnMetric& one : own_) computed.metrics.set(one.name, one.value());
  for (const std::string& name : names_) result.metrics.set(name, computed.metrics[name]);
  result.confusion = std::move(computed.confusion);
  return result;
}

}  // namespace ondine::fit
