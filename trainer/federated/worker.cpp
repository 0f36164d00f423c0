#include "trainer/federated/worker.h"

#include <algorithm>

#include <ondine/version.h>

#include "core/message.h"
#include "trainer/federated/proximal.h"
#include "trainer/federated/transport.h"

namespace ondine::federated {
namespace {

void require_options(const TrainerOptions& options) {
  if (!options.checkpoint.empty() || options.resume || options.resume_if_exists ||
      options.overwrite) {
    fail(ErrorCode::mismatch,
         "a round of a federation has no checkpoint of its own; that of a node is "
         "FederatedOptions::checkpoint");
  }
  if (!options.log_dir.empty() || !options.report.empty() || options.early_stopping) {
    fail(ErrorCode::mismatch,
         "a round of a federation has no records, no report and no early stopping");
  }
}

std::vector<StateInfo> require_weights(const Model& model) {
  std::vector<StateInfo> wanted = exchanged(model);
  if (wanted.empty()) fail(ErrorCode::mismatch, "the model has no weights that training updates");
  for (const StateInfo& one : wanted) {
    if (!numpy_name(one.dtype).empty()) continue;
    fail(ErrorCode::unsupported, "weight ", quoted(one.name), " is of type ", one.dtype,
         ", which a federation cannot exchange");
  }
  return wanted;
}

// The metrics under the names that the options give them, and the number of examples.
fleet::Record record_of(const Metrics& metrics, const ReplyMetrics& names, std::uint64_t examples) {
  fleet::Record record;
  for (const auto& [name, metric] : names) {
    const double* const value = metrics.find(metric);
    if (value == nullptr) {
      std::string known;
      for (const auto& [one, ignored] : metrics) known += (known.empty() ? "" : ", ") + one;
      fail(ErrorCode::mismatch, "there is no metric ", quoted(metric), " for ", quoted(name),
           " of the reply, only ", known.empty() ? "none" : known);
    }
    record.emplace_back(name, *value);
  }
  if (names.empty()) {
    for (const auto& [name, value] : metrics) record.emplace_back(name, value);
  }
  record.emplace_back("num-examples", static_cast<std::int64_t>(examples));
  return record;
}

// Sees that a run ends in time.
class Watch {
 public:
  Watch(StopFlag& stop, const fleet::Metadata& message) : stop_(stop), message_(message) {}

  bool operator()(const StepReport& step) {
    last_ = step;
    is_late_ = is_late(message_);
    return !is_late_ && !stop_.is_set();
  }
  void require_done(const FitReport& report) const {
    if (report.reason != StopReason::requested) return;
    if (is_late_) fail(ErrorCode::limit, "the time of the message ended before the training did");
    throw LinkError(LinkError::Kind::interrupted, ErrorCode::cancelled, "the node was stopped");
  }
  const StepReport& last() const noexcept { return last_; }

 private:
  StopFlag& stop_;
  const fleet::Metadata& message_;
  StepReport last_;
  bool is_late_ = false;
};

}  // namespace

Worker::Worker(const Model& model, const Dataset& data, const FederatedOptions& options,
               StopFlag& stop)
    : base_(model.clone()), options_(options), stop_(stop), wanted_(require_weights(model)) {
  require_options(options.trainer);
  const double fraction = options.trainer.validation_split;
  training_ = data.train();
  evaluated_ = data.has_validation() ? data.validation() : data.train();
  if (fraction == 0) return;
  std::tie(training_, evaluated_) = data.split(fraction, options.trainer.seed);
}

TaskResult Worker::run(const Instruction& instruction, const fleet::Metadata& metadata) {
  const RoundSettings settings = read_settings(instruction.config);
  TaskResult result = instruction.task == Task::train      ? train(instruction, settings, metadata)
                      : instruction.task == Task::evaluate ? evaluate(instruction, settings)
                                                           : query();
  result.round = settings.round;
  for (const std::string& key : settings.unknown) {
    result.notes.push_back("setting " + quoted(key) + " of the message has no effect");
  }
  return result;
}

// The seed of random operators can only be set by an initialization, which sets variables too:
// these get back what they were.
Model Worker::prepared(const NamedValues& arrays, std::uint64_t seed, double proximal) const {
  Model model = proximal == 0 ? base_.clone() : with_proximal(base_, arrays, proximal);
  model.initialize(seed);
  NamedValues values;
  for (const StateInfo& one : base_.state()) {
    const bool is_sent = std::any_of(arrays.begin(), arrays.end(), [&](const NamedValue& sent) {
      return sent.first == one.name;
    });
    if (!is_sent) values.emplace_back(one.name, base_.get_state(one.name));
  }
  values.insert(values.end(), arrays.begin(), arrays.end());
  model.set_state(values);
  return model;
}

TrainerOptions Worker::options_for(const RoundSettings& settings) const {
  TrainerOptions options = options_.trainer;
  options.validation_split = 0;  // was done
  options.seed = settings.seed.value_or(options.seed + settings.round);
  if (settings.epochs) options.epochs = *settings.epochs;
  if (settings.batch_size) options.batch_size = *settings.batch_size;
  if (settings.learning_rate) options.learning_rate = settings.learning_rate;
  if (options.epochs > options_.most_epochs) {
    fail(ErrorCode::limit, "the message asks for ", options.epochs, " epochs, this node does ",
         options_.most_epochs, " at most");
  }
  return options;
}

TaskResult Worker::train(const Instruction& instruction, const RoundSettings& settings,
                         const fleet::Metadata& metadata) {
  const TrainerOptions options = options_for(settings);
  Model model = prepared(instruction.arrays, options.seed, settings.proximal);
  Watch watch(stop_, metadata);
  Trainer trainer(model, options);
  trainer.on_step([&](const StepReport& step) { return watch(step); });
  watch.require_done(trainer.fit(training_, {}));
  TaskResult result;
  result.metrics = watch.last().mean;
  result.examples = watch.last().rows;
  for (const StateInfo& one : wanted_) {
    result.weights.emplace_back(one.name, model.get_state(one.name));
    require_finite(result.weights.back().second.tensor(), "weight " + quoted(one.name));
  }
  result.content.arrays_name = instruction.arrays_name;
  result.content.arrays = result.weights;
  result.content.metrics = record_of(result.metrics, options_.train_metrics, result.examples);
  return result;
}

TaskResult Worker::evaluate(const Instruction& instruction, const RoundSettings& settings) {
  TrainerOptions options = options_for(settings);
  options.learning_rate = {};
  Model model = prepared(instruction.arrays, options.seed, 0);
  const Evaluation evaluation = Trainer(model, options).evaluate(evaluated_);
  TaskResult result;
  result.weights = instruction.arrays;
  result.metrics = evaluation.metrics;
  result.examples = evaluation.rows;
  result.content.metrics = record_of(result.metrics, options_.evaluate_metrics, result.examples);
  return result;
}

// Facts that a server may know without asking for more: no column, class or row.
TaskResult Worker::query() const {
  TaskResult result;
  result.examples = training_.empty() ? 0 : training_.rows();
  result.content.metrics = record_of({}, {}, result.examples);
  std::vector<std::string> names;
  for (const StateInfo& one : wanted_) names.push_back(one.name);
  result.content.config = {{"runtime", std::string("ondine ") + version()},
                           {"fingerprint", base_.fingerprint()},
                           {"arrays", std::move(names)}};
  return result;
}

}  // namespace ondine::federated
