#include "trainer/fit/fit_run.h"

#include <algorithm>
#include <sstream>

#include "core/message.h"
#include "trainer/fit/averages.h"
#include "trainer/fit/data_facts.h"
#include "trainer/fit/score/metric_values.h"
#include "trainer/fit/score/metric_weights.h"
#include "trainer/model/model_impl.h"

namespace ondine::fit {
namespace {

const PortInfo* find_input(const std::vector<PortInfo>& ports, const std::string& name) {
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [&](const PortInfo& port) { return port.name == name; });
  return found == ports.end() ? nullptr : &*found;
}

const PortInfo& learning_rate_input(const std::vector<PortInfo>& ports) {
  const auto found = std::find_if(ports.begin(), ports.end(), [](const PortInfo& port) {
    return port.name.find("learning_rate") != std::string::npos;
  });
  if (found == ports.end()) {
    fail(ErrorCode::mismatch,
         "the training step has no input 'learning_rate'; use --set NAME=VALUE");
  }
  return *found;
}

}  // namespace

NamedValues constants_of(const Model& model, const TrainerOptions& options, std::size_t algorithm) {
  const std::size_t update = update_algorithm(model, options);
  const std::vector<PortInfo> all = model.algorithm(algorithm).inputs;
  const std::size_t other = algorithm == update ? options.algorithm : update;
  NamedValues result;
  const auto add = [&](const PortInfo& port, double value) {
    result.emplace_back(port.name, to_scalar(port.dtype, value, port.name));
  };
  if (options.learning_rate && is_constant(options.schedule) && algorithm == update) {
    add(learning_rate_input(all), static_cast<double>(*options.learning_rate));
  }
  for (const auto& [name, value] : options.constants) {
    const PortInfo* port = find_input(all, name);
    if (port != nullptr) {
      add(*port, value);
    } else if (find_input(model.algorithm(other).inputs, name) == nullptr) {
      fail(ErrorCode::mismatch, "the training step has no input ", quoted(name));
    }
  }
  return result;
}

std::vector<PortInfo> Session::fed_inputs() const {
  const NamedValues constants = constants_of(*model, options, options.algorithm);
  std::vector<PortInfo> fed = model->algorithm(options.algorithm).inputs;
  std::erase_if(fed, [&](const PortInfo& port) {
    return std::any_of(constants.begin(), constants.end(),
                       [&](const NamedValue& one) { return one.first == port.name; });
  });
  return fed;
}

FitRun::FitRun(Session& session, const Dataset& training, const Dataset& validation)
    : session_(session),
      options_(session.options),
      state_(session.state),
      constants_(constants_of(*session.model, options_, options_.algorithm)),
      check_labels_(*session.model) {
  if (session.accumulation) {
    update_constants_ = constants_of(*session.model, options_, session.update());
    for (const PortInfo& port : session.model->algorithm(session.update()).inputs) {
      update_inputs_.push_back(port.name);
    }
  }
  const std::vector<PortInfo> fed = session.fed_inputs();
  feeder_.emplace(make_feeder(data_record(*session.model), fed, training, options_.map,
                              target_inputs(*session.model, options_.algorithm)));
  fed_ = !feeder_->inputs().empty();
  // Without data an epoch is one step.
  rows_ = fed_ ? feeder_->size() : training.empty() ? options_.batch_size : training.rows();
  require_fitting_batches();
  prepare_augmentation();
  prepare_privacy();
  prepare_schedule();
  if (options_.averaged) require_averages(*session.model);
  if (!validation.empty()) {
    validator_.emplace(*session.model, validation, options_, constants_, session.metrics);
    if (validator_->names().empty()) validator_.reset();
  }
  std::vector<std::string> names;
  for (const std::string& name : step_metrics(*session.model, options_.algorithm)) {
    results_.emplace_back(name, Value());
    names.push_back(name);
  }
  counted_ = metric_weights(*session.model, options_.algorithm);
  for (const auto& [metric, weight] : counted_) results_.emplace_back(weight, Value());
  if (model_rate_) {
    (session.accumulation ? update_results_ : results_).emplace_back(model_rate_->output, Value());
  }
  if (session.ranks) prepare_ranks();
  if (options_.eval_every != 0 && !validator_) {
    fail(ErrorCode::mismatch, "evaluation after every ", options_.eval_every,
         " steps (--eval-every) needs validation data");
  }
  if (options_.early_stopping) {
    best_.emplace(*options_.early_stopping, options_.checkpoint, names,
                  validator_ ? validator_->names() : std::vector<std::string>{});
  }
  if (const auto* plateau = std::get_if<PlateauSchedule>(&options_.schedule)) {
    const EarlyStopping watched{plateau->metric, plateau->patience, plateau->min_delta};
    plateau_.emplace(watched, std::filesystem::path(), names,
                     validator_ ? validator_->names() : std::vector<std::string>{});
  }
  step_report_.epochs = options_.epochs;
  step_report_.epoch_rows = rows_;
  const auto resumed_at =
      session.resumed ? std::optional<std::uint64_t>(session.model->steps()) : std::nullopt;
  records_.emplace(*session.model, options_, training, validation, resumed_at);
}

void FitRun::prepare_augmentation() {
  if (!options_.augmentation) return;
  std::vector<std::string> inputs;
  for (const PortInfo& port : session_.model->inputs()) inputs.push_back(port.name);
  augmenter_.emplace(*options_.augmentation, state_.cursor.shuffle_seed,
                     data::BatchReader::sources_of(*feeder_), inputs,
                     data::BatchReader::stored_rows(*feeder_));
}

void FitRun::prepare_privacy() {
  if (!session_.privacy()) return;
  if (!fed_) fail(ErrorCode::mismatch, "training with privacy needs rows of data");
  if (session_.ranks) {
    fail(ErrorCode::mismatch,
         "training with privacy takes random samples of rows, which are not "
         "divided into micro-shards");
  }
  if (options_.batch_size > rows_) {
    fail(ErrorCode::mismatch, "the expected batch size ", options_.batch_size, " is more than the ",
         rows_, " rows of the data");
  }
  if (!session_.resumed && options_.seed == 0) {
    state_.cursor.shuffle_seed = system_seed();
    ModelAccess::set_seed(*session_.model, system_seed());
  }
  const double rate = static_cast<double>(options_.batch_size) / static_cast<double>(rows_);
  state_.spent.begin(session_.privacy()->noise, rate);
}

void FitRun::require_fitting_batches() const {
  const auto fixed = feeder_->fixed_batch();
  const Ranks& ranks = session_.ranks;
  const std::uint64_t size = ranks ? ranks.micro_rows() : options_.batch_size;
  if (fixed && *fixed != size) {
    fail(ErrorCode::mismatch, "the model takes batches of ", *fixed, ", --batch-size is ",
         options_.batch_size,
         ranks ? cat(" in ", ranks.micro_shards(), " parts of ", size, " rows") : "");
  }
  if (rows_ == 0 || (fixed && rows_ < options_.batch_size)) {
    fail(ErrorCode::mismatch, "the data has ", rows_, " rows, less than one batch");
  }
  if (state_.cursor.position > rows_) {
    fail(ErrorCode::mismatch, "the checkpoint stands at row ", state_.cursor.position,
         ", the data has ", rows_);
  }
}

bool FitRun::exhausted() const { return best_ && best_->exhausted(state_.best); }

FitReport FitRun::run() {
  try {
    FitReport result = run_epochs();
    std::ostringstream outcome;
    outcome << result;
    records_->end(outcome.str(), false);
    result.record_note = records_->note();
    return result;
  } catch (const std::exception& error) {
    records_->end(error.what(), true);
    throw;
  }
}

FitReport FitRun::run_epochs() {
  bool did_nothing = true;
  try {
    while (state_.cursor.epoch < options_.epochs && !exhausted()) {
      did_nothing = false;
      epoch_start_ = Clock::now();
      if (!run_epoch()) {
        save();
        return report(*reason_to_stop(), false);
      }
      finish_epoch();
    }
  } catch (...) {
    save_after_failure();
    put_back_learning_rate();
    throw;
  }
  const bool all = state_.cursor.epoch >= options_.epochs;
  return report(all ? StopReason::completed : StopReason::early_stopping, did_nothing);
}

std::uint64_t FitRun::steps_done() const {
  const bool whole_only = feeder_->fixed_batch().has_value();
  const std::uint64_t in_epoch =
      (rows_ + (whole_only ? 0 : options_.batch_size - 1)) / options_.batch_size;
  return state_.cursor.epoch * in_epoch + step_report_.step;
}

std::optional<StopReason> FitRun::reason_to_stop() const {
  if (stop_) return stop_;
  if (session_.stop) return StopReason::requested;
  if (exhausted()) return StopReason::early_stopping;
  if (options_.max_time && Clock::now() - start_ >= *options_.max_time) {
    return StopReason::time_limit;
  }
  if (options_.max_steps && steps_done() >= *options_.max_steps) return StopReason::step_limit;
  return {};
}

bool FitRun::run_epoch() {
  TrainingCursor& cursor = state_.cursor;
  step_report_.epoch = cursor.epoch + 1;
  step_report_.step = cursor.position / options_.batch_size;
  data_wait_.reset();
  if (!fed_) return run_steps();
  if (session_.privacy()) return run_sampled_epoch();
  reader_.emplace(*feeder_, order_of_epoch(), augmenter_ ? &*augmenter_ : nullptr, cursor.epoch);
  const bool finished = run_steps();
  data_wait_ = reader_->waited();
  reader_.reset();
  return finished;
}

bool FitRun::run_sampled_epoch() {
  const TrainingCursor& cursor = state_.cursor;
  sampled_.emplace(rows_, options_.batch_size, cursor.shuffle_seed, cursor.epoch, step_report_.step,
                   session_.privacy()->secure_noise);
  reader_.emplace(*feeder_, sampled_->take_order(), augmenter_ ? &*augmenter_ : nullptr,
                  cursor.epoch);
  const bool finished = run_steps();
  data_wait_ = reader_->waited();
  reader_.reset();
  sampled_.reset();
  return finished;
}

bool FitRun::run_steps() {
  TrainingCursor& cursor = state_.cursor;
  const bool whole_only = feeder_->fixed_batch().has_value();
  while (cursor.position < rows_) {
    const std::uint64_t count = std::min(options_.batch_size, rows_ - cursor.position);
    if (count < options_.batch_size && whole_only) break;
    if (stops()) return false;
    set_learning_rate();
    step(count);
    cursor.position += count;
    ++step_report_.step;
    step_report_.rows = cursor.position;
    state_.sums.mean(step_report_.mean);
    records_->step(step_report_, session_.model->steps());
    if (!session_.tell(step_report_)) session_.stop = true;
    if (evaluates_now()) evaluate_within();
    if (options_.checkpoint_every != 0 && step_report_.step % options_.checkpoint_every == 0) {
      save();
    }
  }
  return true;
}

FitReport FitRun::report(StopReason reason, bool did_nothing) {
  FitReport report;
  report.reason = reason;
  report.epochs = state_.cursor.epoch;
  report.already_finished = did_nothing;
  report.last = std::move(last_);
  if (best_) {
    report.best_epoch = state_.best.epoch;
    report.best_step = state_.best.step;
    report.best_value = state_.best.value;
  }
  if (best_ && options_.early_stopping->restore_best && state_.best.value &&
      reason != StopReason::requested) {
    best_->restore(*session_.model);
    report.restored_best = true;
  }
  put_back_learning_rate();
  return report;
}

}  // namespace ondine::fit
