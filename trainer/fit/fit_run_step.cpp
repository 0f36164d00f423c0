// The steps of a run, and what is saved after them.
#include <algorithm>

#include "core/message.h"
#include "trainer/fit/fit_run.h"
#include "trainer/fit/score/metric_values.h"
#include "trainer/model/model_impl.h"

namespace ondine::fit {

void FitRun::step(std::uint64_t rows) {
  train_step(rows);
  read_metrics();
  if (session_.accumulation && ends_group(rows)) update();
  state_.sums.add(step_report_.last, rows, counts_);
  if (sampled_) ++state_.spent.steps;
}

// Whether an update follows the present batch.
bool FitRun::ends_group(std::uint64_t rows) const {
  if ((step_report_.step + 1) % state_.accumulate == 0) return true;
  const std::uint64_t left = rows_ - state_.cursor.position - rows;
  return left == 0 || (feeder_->fixed_batch() && left < options_.batch_size);
}

void FitRun::update() {
  const auto is_read = [&](const NamedValue& one) {
    return std::find(update_inputs_.begin(), update_inputs_.end(), one.first) !=
           update_inputs_.end();
  };
  const auto is_constant_of = [&](const NamedValue& one) {
    return std::any_of(update_constants_.begin(), update_constants_.end(),
                       [&](const NamedValue& other) { return other.first == one.first; });
  };
  update_feeds_ = update_constants_;
  for (const NamedValue& one : feeds_) {
    if (is_read(one) && !is_constant_of(one)) update_feeds_.push_back(one);
  }
  is_between_ = true;
  session_.model->train_step_into(update_feeds_, session_.update(), update_results_);
  is_between_ = false;
  for (const auto& [name, rate] : update_results_) {
    step_report_.learning_rate = metric_value(rate.tensor());
  }
}

void FitRun::take_batch() {
  feeds_.clear();
  if (reader_) {
    const auto batch = reader_->next();
    check_labels_(batch);
    feeds_.assign(batch.begin(), batch.end());
  }
  if (sampled_) feeds_.push_back(sampled_->next_counted(*session_.model, options_.algorithm));
  feeds_.insert(feeds_.end(), constants_.begin(), constants_.end());
}

void FitRun::sharded_step(std::uint64_t rows) {
  sharded_->compute(rows, [&] {
    take_batch();
    return ShardedRun::Batch(feeds_);
  });
  is_between_ = true;
  sharded_->update(rows, constants_, requires_finite(), results_);
  is_between_ = false;
}

bool FitRun::requires_finite() const {
  return options_.stop_on_nan || options_.on_nan == OnNan::stop;
}

void FitRun::train_step(std::uint64_t rows) {
  Model& model = *session_.model;
  ModelAccess::require_finite(model, requires_finite());
  try {
    if (sharded_) {
      sharded_step(rows);
    } else {
      take_batch();
      model.train_step_into(feeds_, options_.algorithm, results_);
    }
    ModelAccess::require_finite(model, false);
  } catch (const Error& error) {
    ModelAccess::require_finite(model, false);
    if (error.code() != ErrorCode::not_finite) throw;
    diverged_ = true;
    const std::string text =
        cat("in epoch ", state_.cursor.epoch + 1, ", step ", step_report_.step + 1, ", ",
            error.message(), "; nothing was saved since the last checkpoint");
    if (sharded_) throw cluster::AgreedError(ErrorCode::not_finite, text);
    throw Error(ErrorCode::not_finite, text);
  } catch (...) {
    ModelAccess::require_finite(model, false);
    throw;
  }
}

void FitRun::read_metrics() {
  for (const auto& [name, result] : results_) {
    const double value = metric_value(result.tensor());
    const auto counted =
        std::ranges::find(counted_, name, [](const auto& one) { return one.second; });
    if (counted != counted_.end()) {
      counts_.set(counted->first, value);
    } else if (model_rate_ && name == model_rate_->output) {
      step_report_.learning_rate = value;
    } else {
      step_report_.last.set(name, value);
    }
  }
}

// Ranks stop together, for the reason of any of them.
bool FitRun::stops() {
  const std::optional<StopReason> reason = reason_to_stop();
  if (!session_.ranks) return reason.has_value();
  const std::uint32_t wish = reason ? static_cast<std::uint32_t>(*reason) + 1 : 0;
  const std::uint32_t agreed = session_.ranks.agree([] {}, wish);
  if (agreed == 0) return false;
  stop_ = static_cast<StopReason>(agreed - 1);
  return true;
}

void FitRun::prepare_ranks() {
  if (!fed_) {
    fail(ErrorCode::mismatch, "micro-shards divide the rows of data, which no input takes");
  }
  sharded_.emplace(*session_.model, session_.ranks, options_.algorithm, feeder_->inputs(), results_,
                   counted_);
}

data::BatchOrder FitRun::order_of_epoch() const {
  const TrainingCursor& cursor = state_.cursor;
  const Ranks& ranks = session_.ranks;
  data::BatchOrder order;
  order.rows = shuffled(rows_, cursor.shuffle_seed, cursor.epoch);
  order.size = options_.batch_size;
  order.first = cursor.position;
  order.whole_only = feeder_->fixed_batch().has_value();
  if (!ranks) return order;
  order.first = ranks.own_rows_before(cursor.position, rows_);
  order.rows = ranks.own_rows(order.rows);
  order.size = ranks.micro_rows();
  return order;
}

void FitRun::write(const std::filesystem::path& file) const {
  session_.model->save_checkpoint(file, state_.cursor, state_.properties(options_));
}

void FitRun::save() {
  if (options_.checkpoint.empty()) return;
  session_.ranks.on_first([&] { write(options_.checkpoint); });
}

void FitRun::keep_best() {
  session_.ranks.on_first(
      [&] { best_->keep(*session_.model, state_.cursor, state_.properties(options_)); });
}

// The new one first: a run that ends between the two keeps one more.
void FitRun::keep_epoch(std::uint64_t epoch) {
  if (options_.keep_last == 0) return;
  const auto file = [&](std::uint64_t number) {
    return options_.checkpoint.string() + ".epoch" + std::to_string(number);
  };
  session_.ranks.on_first([&] {
    write(file(epoch));
    if (epoch <= options_.keep_last) return;
    std::error_code ignored;
    std::filesystem::remove(file(epoch - options_.keep_last), ignored);
  });
}

// A failed step changes nothing, so the state is that of the last good one. A second failure must
// not hide the first.
void FitRun::save_after_failure() noexcept {
  if (diverged_ || is_between_ || options_.checkpoint.empty()) return;
  if (!session_.ranks.is_first()) return;
  try {
    write(options_.checkpoint);
  } catch (const std::exception&) {
  }
}

}  // namespace ondine::fit
