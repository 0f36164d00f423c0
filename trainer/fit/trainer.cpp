#include <ondine/trainer.h>

#include <algorithm>
#include <cmath>

#include <ondine/data_record.h>

#include "core/files/atomic_file.h"
#include "core/hidden.h"
#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/training/prepare/updates/check_schedule.h"
#include "trainer/data/augment/draws.h"
#include "trainer/fit/data_facts.h"
#include "trainer/fit/fit_run.h"
#include "trainer/fit/folds.h"

namespace ondine {
namespace {

constexpr const char* what = "train the model";

void require_no_model_rate(const Model& model, const TrainerOptions& options) {
  const auto rate = fit::find_model_rate(model, fit::update_algorithm(model, options));
  if (!rate) return;
  fail(ErrorCode::mismatch, "the model has a learning rate schedule of its own (", rate->schedule,
       "), which takes no other; train without a schedule, or prepare the model without one");
}

void require_valid_folds(const TrainerOptions& options) {
  if (options.folds == 0) return;
  if (options.folds == 1) fail(ErrorCode::mismatch, "cross-validation needs at least 2 folds");
  const char* other = options.validation_split != 0                ? "a validation split"
                      : options.max_time                           ? "a time limit"
                      : options.resume || options.resume_if_exists ? "a resumed run"
                                                                   : nullptr;
  if (other != nullptr) {
    fail(ErrorCode::mismatch, "cross-validation (folds) does not go with ", other);
  }
}

void require_valid(const Model& model, const TrainerOptions& options) {
  if (options.algorithm >= model.algorithm_count()) {
    fail(ErrorCode::mismatch, "the model has ", model.algorithm_count(), " training algorithms",
         model.algorithm_count() == 0 ? "; make one with 'ondine prepare'" : "");
  }
  if (options.epochs == 0) fail(ErrorCode::mismatch, "a run needs at least one epoch");
  if (options.batch_size == 0) fail(ErrorCode::mismatch, "a batch needs at least one row");
  if (!(options.validation_split >= 0 && options.validation_split < 1)) {
    fail(ErrorCode::mismatch, "the validation split must be at least 0 and below 1, it is ",
         options.validation_split);
  }
  require_valid_folds(options);
  const bool resumes = options.resume || options.resume_if_exists;
  const bool writes = options.checkpoint_every != 0 || options.keep_last != 0;
  if (options.max_steps && *options.max_steps == 0) {
    fail(ErrorCode::mismatch, "a run needs at least one step");
  }
  if (options.checkpoint.empty() && (resumes || writes)) {
    fail(ErrorCode::mismatch, "there is no checkpoint to ", resumes ? "resume" : "write");
  }
  if (options.accumulate == 0) {
    fail(ErrorCode::mismatch, "gradients must be accumulated over at least 1 batch");
  }
  graph::check_schedule(options.schedule);
  if (!fit::is_constant(options.schedule)) require_no_model_rate(model, options);
  if (options.augmentation) data::require_valid(*options.augmentation);
  fit::require_metrics(model, options.metrics);
  if (options.early_stopping) {
    const EarlyStopping& early = *options.early_stopping;
    if (early.patience == 0) fail(ErrorCode::mismatch, "the patience must be at least 1");
    if (!(early.min_delta >= 0)) {
      fail(ErrorCode::mismatch, "the least improvement must not be negative, it is ",
           early.min_delta);
    }
  }
}

// In the midst of an epoch the order of the rows counts, and which of them were done.
void require_resumable(const fit::Session& session, const Dataset& training) {
  if (!session.restored || session.state.cursor.position == 0) return;
  const std::string other = fit::other_data(data_record(*session.model), training);
  if (other.empty()) return;
  fail(ErrorCode::mismatch, other, ", which stands at row ", session.state.cursor.position,
       " of an epoch; resume with the same data, or train a model that 'ondine export --training' "
       "writes from the checkpoint");
}

// The folds, then the model itself on all rows.
FitReport fit_folds(Trainer& trainer, fit::Session& session, const Dataset& data) {
  fit::require_folds(session.options, data);
  trainer.try_outputs();
  FitReport folds;
  fit::cross_validate(session, data, folds);
  if (folds.reason == StopReason::requested) {
    session.stop = false;
    return folds;
  }
  const TrainerOptions kept = session.options;
  session.options = fit::options_for_all(kept, folds.folds);
  try {
    FitReport report = trainer.fit(data.train(), Dataset());
    session.options = kept;
    report.folds = std::move(folds.folds);
    report.fold_mean = std::move(folds.fold_mean);
    report.fold_deviation = std::move(folds.fold_deviation);
    return report;
  } catch (...) {
    session.options = kept;
    throw;
  }
}

// Gives a lock back when a run ends in whatever way.
struct Released {
  LockFile& lock;
  ~Released() { lock.release(); }
};

FitReport fit_parts(Trainer& trainer, fit::Session& session, const Dataset& training,
                    const Dataset& validation) {
  const TrainerOptions& options = session.options;
  if (options.folds != 0) {
    fail(ErrorCode::mismatch, "cross-validation divides the data itself: give one data set");
  }
  if (options.resume && !session.resumed) trainer.resume();
  session.hold_checkpoint();
  const Released released{session.lock};
  trainer.try_outputs();
  require_resumable(session, training);
  for (const Dataset* part : {&training, &validation}) {
    if (part->empty()) continue;
    fit::require_weights(data_record(*session.model), session.fed_inputs(), *part);
  }
  fit::remember_data(*session.model, training, session.fed_inputs(), options.map,
                     fit::target_inputs(*session.model, options.algorithm));
  if (!validation.empty()) fit::require_recorded(data_record(*session.model), validation);
  if (session.ranks) session.ranks.require_same(*session.model, options, training, validation);
  FitReport report = fit::FitRun(session, training, validation).run();
  session.restored = false;
  session.stop = false;
  // Another call continues; its checkpoint is this run's.
  session.resumed = true;
  return report;
}

}  // namespace

struct ONDINE_HIDDEN Trainer::Impl : fit::Session {
  using Session::Session;
};

Trainer::Trainer(Model& model, TrainerOptions options) {
  guard_memory(what, [&] {
    require_valid(model, options);
    impl_ = std::make_unique<Impl>(model, std::move(options));
    impl_->state.cursor.shuffle_seed = impl_->options.seed;
  });
}

Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

void Trainer::on_step(std::function<bool(const StepReport&)> callback) {
  guard_memory(what, [&] {
    if (callback) impl_->on_step.push_back(std::move(callback));
  });
}
void Trainer::on_epoch(std::function<void(const EpochReport&)> callback) {
  guard_memory(what, [&] {
    if (callback) impl_->on_epoch.push_back(std::move(callback));
  });
}
void Trainer::add_metric(OwnMetric metric) {
  guard_memory(what, [&] {
    fit::require_new(*impl_->model, impl_->options, impl_->metrics, metric);
    impl_->metrics.push_back(std::move(metric));
  });
}

void Trainer::try_outputs() const {
  guard_memory("try the outputs of a run", [&] {
    const TrainerOptions& options = impl_->options;
    const bool resumes = impl_->resumed || options.resume;
    if (!impl_->ranks.is_first()) return;
    if (!options.checkpoint.empty() && !impl_->lock.is_held()) {
      const LockFile tried(impl_->files, options.checkpoint.string());
    }
    if (!options.checkpoint.empty() && !resumes) {
      std::error_code error;
      if (!options.overwrite && std::filesystem::exists(options.checkpoint, error)) {
        fail(ErrorCode::exists, "checkpoint ", quoted(options.checkpoint.string()),
             " exists; continue it with TrainerOptions::resume (--resume) or replace it with "
             "TrainerOptions::overwrite (--overwrite)");
      }
      require_writable(options.checkpoint);
    }
    records::require_records(options, resumes);
  });
}

RestoreReport Trainer::resume() {
  return guard_memory("resume training", [&] {
    if (impl_->options.checkpoint.empty()) fail(ErrorCode::mismatch, "no checkpoint to resume");
    // Kept for the run that follows: no other may save in between.
    impl_->hold_checkpoint();
    try {
      RestoreReport report = impl_->model->restore_checkpoint(impl_->options.checkpoint);
      impl_->state.restore(report, impl_->options);
      impl_->resumed = true;
      impl_->restored = true;
      return report;
    } catch (...) {
      impl_->lock.release();
      throw;
    }
  });
}

FitReport Trainer::fit(const Dataset& data) {
  return guard_memory(what, [&] {
    FitReport report;
    impl_->ranks.agree([&] {
      if (impl_->options.resume && !impl_->resumed) resume();
      const TrainerOptions& options = impl_->options;
      if (options.folds != 0) {
        report = fit_folds(*this, *impl_, data);
      } else if (options.validation_split == 0) {
        report = fit(data.train(), data.validation());
      } else {
        // A resumed run splits as the first one did, whatever its seed.
        const auto [training, validation] =
            data.split(options.validation_split, impl_->state.cursor.shuffle_seed);
        report = fit(training, validation);
      }
    });
    return report;
  });
}

FitReport Trainer::fit(const Dataset& training, const Dataset& validation) {
  return guard_memory(what, [&] {
    FitReport report;
    impl_->ranks.agree([&] { report = fit_parts(*this, *impl_, training, validation); });
    return report;
  });
}

std::vector<std::string> Trainer::notes(const Dataset& data) const {
  return guard_memory("compare the data", [&] {
    const TrainerOptions& options = impl_->options;
    const auto [training, validation] =
        options.validation_split == 0
            ? std::pair{data.train(), data.validation()}
            : data.split(options.validation_split, impl_->state.cursor.shuffle_seed);
    const DataRecord record = data_record(*impl_->model);
    std::vector<std::string> notes;
    if (training.empty()) return notes;
    fit::require_weights(record, impl_->fed_inputs(), training);
    if (const auto& privacy = impl_->privacy()) notes.push_back(fit::note_of(*privacy));
    if (impl_->restored) {
      const std::string other = fit::other_data(record, training);
      if (!other.empty()) notes.push_back(other);
    }
    if (options.folds != 0 && record.table_plan) {
      notes.emplace_back(
          "the columns' values, fills, means and deviations are those that prepare computed, also "
          "of the rows of each fold");
    }
    const std::string statistics = fit::other_statistics(record, training);
    if (!statistics.empty()) notes.push_back(statistics);
    const std::vector<std::string> more =
        fit::input_notes(record, impl_->fed_inputs(), training, options.map);
    notes.insert(notes.end(), more.begin(), more.end());
    for (std::string& note : fit::unknown_categories(record, validation)) {
      notes.push_back("validation data: " + std::move(note));
    }
    return notes;
  });
}

Evaluation Trainer::evaluate(const Dataset& data) const {
  return guard_memory("evaluate the model", [&] {
    const Model& model = *impl_->model;
    fit::require_recorded(data_record(model), data);
    fit::require_weights(data_record(model), impl_->fed_inputs(), data);
    fit::Validator validator(model, data, impl_->options,
                             fit::constants_of(model, impl_->options, impl_->options.algorithm),
                             impl_->metrics);
    if (validator.names().empty()) {
      fail(ErrorCode::mismatch, "the training algorithm computes nothing that can be evaluated");
    }
    return validator.run(model);
  });
}

void Trainer::request_stop() noexcept { impl_->stop = true; }

const TrainingCursor& Trainer::cursor() const noexcept { return impl_->state.cursor; }

bool has_checkpoint(const std::filesystem::path& file) {
  return guard_memory("look for a checkpoint", [&] {
    if (file.empty()) return false;
    std::error_code error;
    const std::string path = follow_link(file.string());
    return std::filesystem::exists(path, error) ||
           std::filesystem::exists(previous_generation(path), error);
  });
}

void require_writable(const std::filesystem::path& file) {
  guard_memory("try a file", [&] {
    std::error_code error;
    if (std::filesystem::is_directory(file, error)) {
      fail(ErrorCode::io, "cannot write ", quoted(file.string()), ": it is a folder");
    }
    PosixFileSystem files;
    require_writable(files, file.string());
  });
}

}  // namespace ondine
