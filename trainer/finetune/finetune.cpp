#include <ondine/finetune.h>

#include <algorithm>
#include <ostream>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/finetune/adapted.h"
#include "trainer/finetune/choices.h"
#include "trainer/fit/folds.h"
#include "trainer/fit/schedule.h"

namespace ondine {
namespace {

class Run {
 public:
  explicit Run(const FinetuneOptions& options) : options_(&options) {}

  FinetuneReport run(const FinetuneModel& model, const FinetuneData& data) {
    tune::check_options(*options_);
    if (!options_->output.empty()) require_writable(options_->output);
    const tune::Opened opened = tune::open_all(model, data, *options_);
    require_rows_set_apart(opened);
    tune::Adapted adapted = tune::adapt(opened, *options_);
    choose_training(opened, adapted);
    take_report(opened, adapted);
    report_.model = std::move(adapted.model);
    announce();
    if (trainer_.folds != 0 && !cross_validate(model, opened)) return std::move(report_);
    fit(opened);
    if (report_.fit.reason == StopReason::requested) return std::move(report_);
    evaluate(opened);
    if (refits(opened)) {
      refit(opened);
      if (report_.fit.reason == StopReason::requested) return std::move(report_);
    }
    if (!options_->output.empty()) {
      report_.model->export_inference(options_->output);
      report_.output = options_->output;
    }
    return std::move(report_);
  }

 private:
  void choose_training(const tune::Opened& opened, const tune::Adapted& adapted) {
    trainer_ = options_->trainer;
    trainer_.seed = options_->load.seed;
    const std::uint64_t rows = opened.training.rows();
    trainer_.batch_size =
        options_->batch_size.value_or(batch_size(*adapted.model, rows, opened.facts.target));
    trainer_.epochs = options_->epochs.value_or(tune::epochs_for(rows, trainer_.batch_size));
    if (!options_->prepare.schedule) {
      trainer_.schedule = options_->schedule.value_or(OneCycleSchedule{.warmup = 0.2});
    }
    const std::uint64_t patience = options_->patience.value_or(tune::patience_for(trainer_.epochs));
    if (patience == 0) {
      trainer_.early_stopping.reset();
    } else {
      if (!trainer_.early_stopping) trainer_.early_stopping.emplace();
      trainer_.early_stopping->patience = patience;
    }
    if (trainer_.metrics.empty() && !options_->loss) {
      trainer_.metrics = tune::metrics_for(opened.facts.target, opened.facts.kind);
    }
  }

  void require_rows_set_apart(const tune::Opened& opened) const {
    if (options_->refit != true || opened.whole) return;
    fail(ErrorCode::mismatch, "validation data are given, which are never learned from: refit ",
         "(--refit) trains once more on rows that were set apart, and has no effect");
  }

  // Batch size that the model fixes; otherwise one for the rows and the target.
  static std::uint64_t batch_size(const Model& model, std::uint64_t rows,
                                  const tune::TargetFacts& target) {
    for (const PortInfo& input : model.inputs()) {
      if (input.dims && !input.dims->empty() && input.dims->front() > 0) {
        return static_cast<std::uint64_t>(input.dims->front());
      }
    }
    return tune::batch_size_for(rows, target);
  }

  void take_report(const tune::Opened& opened, const tune::Adapted& adapted) {
    report_.network = opened.network;
    report_.prepared = adapted.report;
    report_.notes = opened.notes;
    report_.notes.insert(report_.notes.end(), adapted.report.warnings.begin(),
                         adapted.report.warnings.end());
    report_.training_rows = opened.training.rows();
    report_.validation_rows = opened.validation.rows();
    if (!trainer_.metrics.empty()) report_.metric = trainer_.metrics[0];
    add(adapted.loss);
    add(opened.network.empty() ? adapted.head : "no model is given: a new " + opened.network);
    add(joined(joined(opened.size_chosen, adapted.scaling), adapted.budget));
    add(rate_text(adapted));
    add(stopping_text(opened));
  }

  void add(std::string text) {
    if (!text.empty()) report_.assumed.push_back(std::move(text));
  }

  static std::string joined(std::string a, const std::string& b) {
    if (!a.empty() && !b.empty()) a += "; ";
    return a + b;
  }

  std::string rate_text(const tune::Adapted& adapted) const {
    std::string text;
    if (!options_->optimizer) text = tune::name_of(adapted.optimizer);
    if (!adapted.rate.empty()) text += " at " + adapted.rate;
    text = joined(std::move(text), adapted.body_rate);
    if (!adapted.report.weight_decay_reason.empty()) {
      text = joined(std::move(text), "weight decay " + adapted.report.weight_decay + ": " +
                                         adapted.report.weight_decay_reason);
    }
    if (!options_->schedule && !options_->prepare.schedule) {
      text = joined(std::move(text), cat("schedule ", fit::name_of(trainer_.schedule)));
    }
    if (options_->batch_size) return text;
    return joined(std::move(text), cat("batches of ", trainer_.batch_size, " rows"));
  }

  std::string stopping_text(const tune::Opened& opened) const {
    std::string text;
    if (!options_->epochs) text = cat("at most ", trainer_.epochs, " epochs");
    if (!options_->patience && trainer_.early_stopping) {
      text = joined(
          std::move(text),
          cat("the best state counts, and training stops after ", trainer_.early_stopping->patience,
              " epochs without a better ", trainer_.early_stopping->metric));
    }
    if (trainer_.folds != 0) {
      return joined(std::move(text),
                    cat("cross-validation in ", trainer_.folds, " folds, then all rows for ",
                        fit::watches_validation(trainer_) ? "the mean of their best epochs"
                                                          : "as many epochs"));
    }
    if (!opened.split.empty()) text = joined(std::move(text), "validation on " + opened.split);
    if (options_->refit || !refits(opened)) return text;
    return joined(std::move(text),
                  "then trained once more on all rows, for as many epochs as were best");
  }

  void announce() const {
    if (options_->on_assumed) options_->on_assumed(report_.assumed);
  }

  void fit(const tune::Opened& opened) {
    Trainer trainer(*report_.model, trainer_);
    if (options_->on_step) trainer.on_step(options_->on_step);
    if (options_->on_epoch) trainer.on_epoch(options_->on_epoch);
    report_.fit = trainer.fit(opened.training, opened.validation);
    if (!report_.fit.record_note.empty()) {
      report_.notes.push_back("records of the run are incomplete: " + report_.fit.record_note);
    }
  }

  // Each fold from the beginning, so that no scale or head knows its rows. False where a callback
  // ended it.
  bool cross_validate(const FinetuneModel& model, const tune::Opened& opened) {
    FinetuneOptions one = *options_;
    one.trainer = fit::options_of_fold(one.trainer);
    one.output.clear();
    one.on_assumed = {};
    one.batch_size = trainer_.batch_size;
    one.epochs = trainer_.epochs;
    one.patience = trainer_.early_stopping ? trainer_.early_stopping->patience : 0;
    for (const auto& [training, fold] :
         opened.training.folds(trainer_.folds, options_->load.seed)) {
      tell_fold(one, folds_.folds.size() + 1);
      one.validation = fold;
      const FinetuneReport report = Run(one).run(model, training);
      if (report.fit.reason == StopReason::requested) {
        report_.fit.reason = StopReason::requested;
        return false;
      }
      folds_.folds.push_back({training.rows(), fold.rows(), report.fit.epochs,
                              report.fit.best_epoch, report.evaluation.metrics});
    }
    fit::take_means(folds_);
    trainer_ = fit::options_for_all(trainer_, folds_.folds);
    return true;
  }

  void tell_fold(FinetuneOptions& one, std::uint64_t number) const {
    if (options_->on_step) {
      one.on_step = [this, number](const StepReport& step) {
        StepReport told = step;
        told.fold = number;
        return options_->on_step(told);
      };
    }
    if (options_->on_epoch) {
      one.on_epoch = [this, number](const EpochReport& epoch) {
        EpochReport told = epoch;
        told.fold = number;
        options_->on_epoch(told);
      };
    }
  }

  // Reports the means of cross-validation, since no row is left to evaluate on.
  void take_folds() {
    report_.fit.folds = std::move(folds_.folds);
    report_.fit.fold_mean = folds_.fold_mean;
    report_.fit.fold_deviation = std::move(folds_.fold_deviation);
    report_.evaluation.metrics = std::move(folds_.fold_mean);
    for (const FoldReport& one : report_.fit.folds) report_.evaluation.rows += one.rows;
  }

  void evaluate(const tune::Opened& opened) {
    if (trainer_.averaged) take_averages(*report_.model);
    if (!folds_.folds.empty()) {
      take_folds();
      return;
    }
    EvaluateOptions options;
    options.batch_size = std::max<std::uint64_t>(trainer_.batch_size, 64);
    options.map = trainer_.map;
    options.metrics = trainer_.metrics;
    options.class_axis = trainer_.class_axis;
    report_.evaluation = ondine::evaluate(*report_.model, opened.validation, options);
    if (report_.metric.empty() && !report_.evaluation.metrics.empty()) {
      report_.metric = report_.evaluation.metrics.begin()->first;
    }
  }

  // A run that time or steps ended has no best epoch to repeat; after cross-validation the model is
  // trained on all rows already.
  bool refits(const tune::Opened& opened) const {
    if (!opened.whole || trainer_.folds != 0 || trainer_.max_time || trainer_.max_steps)
      return false;
    return options_->refit.value_or(tune::refits(opened.whole->rows(), opened.facts.target));
  }

  // Trains on all rows for the best number of epochs, with the whole schedule. The report keeps the
  // metrics measured before.
  void refit(const tune::Opened& opened) {
    TrainerOptions again = fit::without_files(trainer_);
    again.early_stopping.reset();
    again.eval_every = 0;
    if (report_.fit.best_epoch > 0) again.epochs = report_.fit.best_epoch;
    report_.model->initialize(options_->load.seed);
    Trainer trainer(*report_.model, again);
    if (options_->on_step) trainer.on_step(options_->on_step);
    if (trainer.fit(*opened.whole).reason == StopReason::requested) {
      report_.fit.reason = StopReason::requested;
      return;
    }
    if (trainer_.averaged) take_averages(*report_.model);
    report_.refit_rows = opened.whole->rows();
  }

  const FinetuneOptions* options_;
  TrainerOptions trainer_;
  FinetuneReport report_;
  FitReport folds_;  // of cross-validation
};

}  // namespace

FinetuneReport finetune(const FinetuneModel& model, const FinetuneData& data,
                        const FinetuneOptions& options) {
  return guard_memory("tune the model", [&] { return Run(options).run(model, data); });
}

std::ostream& operator<<(std::ostream& out, const FinetuneReport& report) {
  out << report.evaluation.metrics;
  if (report.fit.folds.empty()) {
    out << " on " << report.validation_rows << " validation rows";
  } else {
    out << ", the mean of " << report.fit.folds.size() << " folds";
  }
  if (report.refit_rows > 0) {
    out << ", before it was trained once more on all " << report.refit_rows << " rows";
  }
  if (!report.output.empty()) out << "; wrote " << report.output.string();
  return out;
}

}  // namespace ondine
