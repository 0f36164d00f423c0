#include <algorithm>

#include "core/message.h"
#include "trainer/fit/evaluator.h"
#include "trainer/fit/run_state.h"
#include "trainer/model_impl.h"

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

}  // namespace

Validator::Validator(const Model& model, const Dataset& data, const TrainerOptions& options,
                     const NamedValues& constants)
    : algorithm_(options.algorithm),
      batch_size_(std::max(options.batch_size, evaluation_batch)),
      constants_(constants),
      feeder_(without(model.algorithm(options.algorithm).inputs, constants), data, options.map) {
  const std::vector<std::string>& evaluated = ModelAccess::evaluated(model, algorithm_);
  for (const std::string& name : metric_names(model, algorithm_)) {
    if (contains(evaluated, name)) metrics_.push_back(name);
  }
  names_ = fetches_ = metrics_;
  add_scores(model, data, options.map);
  if (!names_.empty()) try_first_batch(model);
}

void Validator::add_scores(const Model& model, const Dataset& data, const ArrayMap& map) {
  if (model.outputs().empty()) return;
  EvaluateOptions options;
  options.map = map;
  scoring_ = find_scoring(model, data, options);
  if (!scoring_) return;
  bool more = contains(feeder_.inputs(), scoring_->label.name);
  const std::vector<std::string> scores = Scores(scoring_->kind).names();
  more = more && std::any_of(scores.begin(), scores.end(),
                             [&](const std::string& name) { return !contains(metrics_, name); });
  if (!more) {
    scoring_.reset();
    return;
  }
  if (!contains(fetches_, scoring_->output)) fetches_.push_back(scoring_->output);
  for (const std::string& name : scores) {
    if (!contains(names_, name)) names_.push_back(name);
  }
}

// Where the main output and the labels have shapes that do not fit, there are no scores.
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
  const Tensor* labels = find(batch, scoring_->label.name);
  if (Scores(scoring_->kind).fit(results[scoring_->output].tensor().shape(), labels->shape())) {
    return;
  }
  scoring_.reset();
  names_ = fetches_ = metrics_;
}

Results Validator::evaluate(const Model& model, std::span<const NamedValue> batch) {
  feeds_.assign(batch.begin(), batch.end());
  feeds_.insert(feeds_.end(), constants_.begin(), constants_.end());
  return model.eval_step(feeds_, algorithm_, fetches_);
}

Evaluation Validator::run(const Model& model) {
  MetricSums sums(metrics_);
  std::optional<Scores> scores;
  if (scoring_) scores.emplace(scoring_->kind, scoring_->threshold);
  Evaluation result;
  result.rows = for_each_batch(feeder_, batch_size_, [&](std::span<const NamedValue> batch) {
    const Results results = evaluate(model, batch);
    Metrics means;
    for (const std::string& name : metrics_) means.set(name, results.scalar(name));
    sums.add(means, static_cast<std::uint64_t>(batch[0].second.tensor().shape()[0]));
    if (scores) {
      scores->add(results[scoring_->output].tensor(), *find(batch, scoring_->label.name));
    }
  });
  Metrics computed;
  if (scores) scores->mean(computed);
  sums.mean(computed);  // an algorithm's own metric counts
  for (const std::string& name : names_) result.metrics.set(name, computed[name]);
  return result;
}

}  // namespace ondine::fit
