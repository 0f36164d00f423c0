// Evaluations of a run: after epochs and between steps.
#include "trainer/fit/averages.h"
#include "trainer/fit/fit_run.h"

namespace ondine::fit {

Evaluation FitRun::validate() {
  AveragedWeights averages(*session_.model, options_.averaged);
  worst_ = {};
  Evaluation evaluation =
      validator_->run(*session_.model, options_.report.empty() ? nullptr : &worst_);
  averages.put_back();
  return evaluation;
}

// Report at the end of an epoch or, with a step, in its midst.
EpochReport FitRun::evaluated(std::uint64_t step) {
  EpochReport epoch;
  epoch.epoch = state_.cursor.epoch + 1;
  epoch.epochs = options_.epochs;
  epoch.step = step;
  epoch.steps = session_.model->steps();
  epoch.rows = state_.sums.rows();
  epoch.seconds = std::chrono::duration<double>(Clock::now() - epoch_start_).count();
  epoch.data_wait = step != 0 && reader_ ? reader_->waited() : data_wait_;
  epoch.learning_rate = step_report_.learning_rate;
  if (session_.privacy()) {
    epoch.delta = options_.privacy_delta.value_or(default_delta(rows_));
    epoch.epsilon = state_.spent.epsilon(*epoch.delta);
  }
  state_.sums.mean(epoch.training);
  if (validator_) {
    Evaluation evaluation = validate();
    epoch.validation = std::move(evaluation.metrics);
    epoch.confusion = std::move(evaluation.confusion);
  }
  return epoch;
}

// Tells of it. Only what follows changes the state: what a callback throws leaves the epoch
// unfinished.
void FitRun::judge(EpochReport& epoch) {
  judged_ = state_.best;
  if (best_) epoch.best = best_->judge(epoch, judged_);
  records_->epoch(epoch, worst_.errors());
  for (const auto& callback : session_.on_epoch) callback(epoch);
  state_.best = judged_;
}

// The end of an epoch is evaluated in any case.
bool FitRun::evaluates_now() const {
  if (options_.eval_every == 0 || steps_done() % options_.eval_every != 0) return false;
  const std::uint64_t left = rows_ - state_.cursor.position;
  return left >= (feeder_->fixed_batch() ? options_.batch_size : 1);
}

void FitRun::evaluate_within() {
  EpochReport epoch = evaluated(step_report_.step);
  judge(epoch);
  if (epoch.best) keep_best();
  last_ = std::move(epoch);
}

void FitRun::finish_epoch() {
  state_.sums.require_labels();
  EpochReport epoch = evaluated(0);
  Best plateau = state_.plateau;
  if (plateau_) plateau_->judge(epoch, plateau);
  judge(epoch);
  state_.plateau = plateau;
  if (plateau_ && plateau_->exhausted(plateau)) {
    ++state_.drops;
    state_.plateau.stale = 0;
  }
  state_.cursor = {epoch.epoch, state_.cursor.shuffle_seed, 0};
  state_.sums.clear();
  // The best first: a run that ends between the two repeats the epoch and writes it again.
  if (epoch.best) keep_best();
  save();
  keep_epoch(state_.cursor.epoch);
  last_ = std::move(epoch);
}

}  // namespace ondine::fit
