// The learning rate of a run.
#include "trainer/fit/fit_run.h"

namespace ondine::fit {

void FitRun::prepare_schedule() {
  const std::uint64_t size = options_.batch_size;
  length_.epoch = feeder_->fixed_batch() ? rows_ / size : (rows_ + size - 1) / size;
  length_.epoch = (length_.epoch + state_.accumulate - 1) / state_.accumulate;
  length_.run = length_.epoch * options_.epochs;
  model_rate_ = find_model_rate(*session_.model, session_.update());
  if (model_rate_) {
    state_.schedule = model_rate_->schedule;  // checkpoints are of the same model
  } else {
    state_.require_schedule(describe(options_.schedule, length_));
  }
  if (!has_base_rate()) return;
  if (options_.learning_rate) {
    state_.base_rate = static_cast<double>(*options_.learning_rate);
  } else if (!state_.base_rate) {
    state_.base_rate = static_cast<double>(session_.model->learning_rate(session_.update()));
  }
  if (model_rate_) put_back_learning_rate();
}

bool FitRun::has_base_rate() const { return model_rate_ || !is_constant(options_.schedule); }

void FitRun::set_learning_rate() {
  if (is_constant(options_.schedule)) return;
  const std::uint64_t step =
      state_.cursor.epoch * length_.epoch + step_report_.step / state_.accumulate;
  const auto rate = static_cast<float>(
      rate_at(options_.schedule, *state_.base_rate, step, length_, state_.drops));
  session_.model->set_learning_rate(rate, session_.update());
  step_report_.learning_rate = static_cast<double>(rate);
}

void FitRun::put_back_learning_rate() {
  if (!has_base_rate()) return;
  session_.model->set_learning_rate(static_cast<float>(*state_.base_rate), session_.update());
}

}  // namespace ondine::fit
