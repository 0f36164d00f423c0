#include "trainer/fit/folds.h"

#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "trainer/fit/early_stopping.h"

namespace ondine::fit {
namespace {

FoldReport train_fold(const Session& session, const Dataset& training, const Dataset& fold,
                      std::uint64_t number, FitReport& report) {
  Model copy = session.model->clone();
  Trainer trainer(copy, options_of_fold(session.options));
  for (const OwnMetric& metric : session.metrics) trainer.add_metric(metric);
  trainer.on_step([&](const StepReport& step) {
    StepReport told = step;
    told.fold = number;
    return session.tell(told) && !session.stop;
  });
  trainer.on_epoch([&](const EpochReport& epoch) {
    EpochReport told = epoch;
    told.fold = number;
    for (const auto& callback : session.on_epoch) callback(told);
  });
  const FitReport fit = trainer.fit(training, fold);
  report.reason = fit.reason;
  FoldReport result;
  result.training_rows = training.rows();
  result.rows = fold.rows();
  result.epochs = fit.epochs;
  result.best_epoch = fit.best_epoch;
  if (fit.reason == StopReason::requested) return result;
  if (session.options.averaged) take_averages(copy);
  result.metrics = trainer.evaluate(fold).metrics;
  return result;
}

}  // namespace

void require_folds(const TrainerOptions& options, const Dataset& data) {
  if (data.has_validation()) {
    fail(ErrorCode::mismatch,
         "the data have a validation part, which cross-validation (--folds) would leave out: give "
         "the training data alone");
  }
  const auto* plateau = std::get_if<PlateauSchedule>(&options.schedule);
  if (plateau != nullptr && plateau->metric.starts_with(validation_prefix)) {
    fail(ErrorCode::mismatch, "the schedule watches ", quoted(plateau->metric),
         ", which training on all rows after cross-validation (--folds) does not have");
  }
}

TrainerOptions without_files(TrainerOptions options) {
  options.checkpoint.clear();
  options.checkpoint_every = 0;
  options.keep_last = 0;
  options.resume = options.resume_if_exists = false;
  options.overwrite = false;
  options.log_dir.clear();
  options.report.clear();
  return options;
}

TrainerOptions options_of_fold(TrainerOptions options) {
  options.folds = 0;
  return without_files(std::move(options));
}

bool watches_validation(const TrainerOptions& options) {
  return options.early_stopping && options.early_stopping->metric.starts_with(validation_prefix);
}

std::uint64_t epochs_for_all(const TrainerOptions& options, std::span<const FoldReport> folds) {
  if (!watches_validation(options) || folds.empty()) return options.epochs;
  double sum = 0;
  for (const FoldReport& one : folds) sum += static_cast<double>(one.best_epoch);
  const double mean = std::round(sum / static_cast<double>(folds.size()));
  return static_cast<std::uint64_t>(std::max(1.0, mean));
}

TrainerOptions options_for_all(TrainerOptions options, std::span<const FoldReport> folds) {
  options.epochs = epochs_for_all(options, folds);
  if (watches_validation(options)) options.early_stopping.reset();
  options.folds = 0;
  options.eval_every = 0;
  return options;
}

void take_means(FitReport& report) {
  if (report.folds.empty()) return;
  const auto count = static_cast<double>(report.folds.size());
  for (const auto& [name, first] : report.folds[0].metrics) {
    const auto value_of = [&, &metric = name](const FoldReport& one) {
      const double* value = one.metrics.find(metric);
      return value == nullptr ? std::nan("") : *value;
    };
    double sum = 0;
    for (const FoldReport& one : report.folds) sum += value_of(one);
    double squares = 0;
    for (const FoldReport& one : report.folds) {
      squares += (value_of(one) - sum / count) * (value_of(one) - sum / count);
    }
    report.fold_mean.set(name, sum / count);
    report.fold_deviation.set(name, std::sqrt(squares / (count - 1)));
  }
}

void cross_validate(const Session& session, const Dataset& data, FitReport& report) {
  const TrainerOptions& options = session.options;
  const auto folds = data.folds(options.folds, session.state.cursor.shuffle_seed);
  for (std::size_t i = 0; i < folds.size(); ++i) {
    report.folds.push_back(train_fold(session, folds[i].first, folds[i].second, i + 1, report));
    if (report.reason == StopReason::requested) {
      report.folds.pop_back();
      return;
    }
  }
  take_means(report);
}

}  // namespace ondine::fit
