#include "ondine/train/train_run.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include <ondine/printable.h>
#include <ondine/replace_file.h>

#include "ondine/take_checkpoint.h"
#include "ondine/take_weights.h"
#include "ondine/train/folds.h"
#include "ondine/train/interrupt.h"
#include "ondine/train/print_matrix.h"

namespace ondine::cli {
namespace {

template <class Report>
std::string text_of(const Report& report) {
  std::ostringstream text;
  text << report;
  return text.str();
}

}  // namespace

TrainRun::TrainRun(const TrainOptions& options)
    : options_(options),
      model_(Model::load(options.model, options.load)),
      trainer_(make_trainer()),
      progress_(options.quiet) {
  print_warnings(model_);
  // The checkpoint says how the data are opened.
  if (options_.trainer.resume) print_note(trainer_.resume());
  load_data();
  start();
}

// Tries all outputs before work is spent; a dry run forgets them then.
Trainer TrainRun::make_trainer() {
  read_options();
  Trainer trainer(model_, options_.trainer);
  for (const std::string& file : {options_.output, options_.metrics_file}) {
    if (!file.empty()) require_writable(file);
  }
  trainer.try_outputs();
  if (!options_.dry_run) return trainer;
  options_.output.clear();
  options_.metrics_file.clear();
  for (std::filesystem::path* file :
       {&options_.trainer.checkpoint, &options_.trainer.log_dir, &options_.trainer.report}) {
    file->clear();
  }
  options_.trainer.checkpoint_every = 0;
  options_.trainer.keep_last = 0;
  return Trainer(model_, options_.trainer);
}

bool TrainRun::is_given(std::string_view option) const {
  return std::any_of(options_.values.begin(), options_.values.end(),
                     [&](const auto& value) { return value.first == option; });
}

// Even a constant rate would be another schedule than the model's.
void TrainRun::require_one_schedule() const {
  if (!is_given("schedule")) return;
  const std::string own = model_schedule(model_);
  if (own.empty()) return;
  throw Error(ErrorCode::mismatch, "--schedule: the model has a schedule of its own (" + own +
                                       "); leave the option out, or prepare the model without");
}

void TrainRun::read_options() {
  require_one_schedule();
  // The algorithm tells the inputs that other options name.
  options_.trainer = trainer_options(options_.values, {}, OptionSpelling::dashes);
  const std::vector<PortInfo> named = inputs();
  TrainerOptions& trainer = options_.trainer;
  trainer = trainer_options(options_.values, named, OptionSpelling::dashes);
  trainer.seed = options_.load.seed;
  trainer.communicator = options_.communicator;
  trainer.resume =
      trainer.resume || (trainer.resume_if_exists && has_checkpoint(trainer.checkpoint));
  // Without data a step is one draw of the model's own.
  if (options_.data.data.empty() && !is_given("batch-size")) trainer.batch_size = 1;
}

std::vector<PortInfo> TrainRun::inputs() const {
  const std::size_t algorithm = options_.trainer.algorithm;
  if (algorithm >= model_.algorithm_count()) return {};
  return model_.algorithm(algorithm).inputs;
}

bool TrainRun::is_set(const PortInfo& input) const {
  const bool rate = options_.trainer.learning_rate.has_value() &&
                    input.name.find("learning_rate") != std::string::npos;
  const auto& constants = options_.trainer.constants;
  return rate || std::any_of(constants.begin(), constants.end(),
                             [&](const auto& one) { return one.first == input.name; });
}

// An algorithm may draw or hold what it learns from: it needs no data.
void TrainRun::require_no_data() const {
  for (const PortInfo& input : inputs()) {
    if (input.has_default || is_set(input)) continue;
    throw WrongUsage("--data is required: the training algorithm has the input '" +
                     printable(input.name) + "'");
  }
}

void TrainRun::load_data() {
  if (options_.data.data.empty()) return require_no_data();
  training_ = open_dataset(options_.data.data, options_.data, model_);
  print_skipped(training_);
  print_skipped(training_.validation(), training_);
  if (options_.trainer.validation_split != 0 && training_.has_validation()) {
    std::cerr << "note: the validation part of the data is left out: --validation-split sets rows "
                 "apart\n";
  }
  for (const std::string& note : trainer_.notes(training_)) {
    std::cerr << "note: " << printable(note) << '\n';
  }
  if (options_.validation_data.empty()) return;
  const Dataset other = open_like(training_, options_.validation_data, options_.data, model_);
  validation_ = other.has_validation() ? other.validation() : other;
  print_skipped(*validation_);
}

void TrainRun::start() {
  if (options_.initialize && !options_.trainer.resume) model_.initialize(options_.load.seed);
  if (!options_.weights.empty() && !options_.trainer.resume) take_weights(model_, options_.weights);
  if (!options_.metrics_file.empty()) {
    log_.open(options_.metrics_file, options_.trainer.resume ? std::ios::app : std::ios::trunc);
    if (!log_) throw Error(ErrorCode::io, "cannot write '" + options_.metrics_file + "'");
  }
  if (options_.dry_run) return;
  keep_job();
  print_ranks();
  trainer_.on_step([this](const StepReport& step) {
    rows_ = step.epoch_rows;
    std::string status = text_of(step.mean);
    if (step.learning_rate) status += ", learning rate " + number(*step.learning_rate);
    const std::string fold = step.fold == 0 ? "" : "fold " + std::to_string(step.fold) + ", ";
    progress_.update(
        fold + "epoch " + std::to_string(step.epoch) + "/" + std::to_string(step.epochs), step.rows,
        step.epoch_rows, status);
    return !InterruptGuard::requested();
  });
  trainer_.on_epoch([this](const EpochReport& epoch) { on_epoch(epoch); });
}

void TrainRun::print_ranks() {
  if (!options_.communicator) return;
  const std::size_t size = options_.communicator->size();
  progress_.line(std::to_string(size) + (size == 1 ? " rank" : " ranks") + " (" +
                 options_.communicator->describe() + ")");
}

void TrainRun::keep_job() const {
  if (options_.trainer.checkpoint.empty()) return;
  if (options_.communicator && options_.communicator->rank() != 0) return;
  replace_file(options_.trainer.checkpoint.string() + ".toml",
               [&](std::ostream& out) { out << options_.job_text; });
}

void TrainRun::on_epoch(const EpochReport& report) {
  progress_.line(text_of(report));
  if (!log_.is_open()) return;
  nlohmann::json record{{"epoch", report.epoch},
                        {"step", report.steps},
                        {"rows", report.rows},
                        {"seconds", report.seconds}};
  if (report.fold != 0) record["fold"] = report.fold;
  if (report.learning_rate) record["learning_rate"] = *report.learning_rate;
  for (const auto& [name, value] : report.training) record[name] = value;
  for (const auto& [name, value] : report.validation) record["validation_" + name] = value;
  if (report.confusion) record["validation_confusion_matrix"] = matrix_json(*report.confusion);
  constexpr auto replace = nlohmann::json::error_handler_t::replace;
  if (!(log_ << record.dump(-1, ' ', false, replace) << std::endl)) {
    throw Error(ErrorCode::io, "cannot write '" + options_.metrics_file + "'");
  }
}

FitReport TrainRun::fit() {
  try {
    return validation_ ? trainer_.fit(training_.train(), *validation_) : trainer_.fit(training_);
  } catch (const Error&) {
    const TrainingCursor& cursor = trainer_.cursor();
    if (rows_ != 0 || cursor.position != 0) {
      progress_.line("stopped in epoch " + std::to_string(cursor.epoch + 1) + ", step " +
                     std::to_string(cursor.position / options_.trainer.batch_size + 1));
    }
    throw;
  }
}

int TrainRun::run() {
  const InterruptGuard guard;
  const FitReport report = fit();
  last_epoch_ = report.last;
  if (!report.record_note.empty()) {
    std::cerr << "note: records of the run are incomplete: " << report.record_note << '\n';
  }
  print_folds(report, progress_);
  if (report.reason == StopReason::requested) return interrupted();
  if (report.already_finished) {
    progress_.line("nothing to do: the run of '" + options_.trainer.checkpoint.string() + "' has " +
                   std::to_string(report.epochs) + " of " +
                   std::to_string(options_.trainer.epochs) + " epochs and is finished");
  }
  if (report.reason != StopReason::completed || report.best_value) progress_.line(text_of(report));
  write_result();
  return 0;
}

void TrainRun::write_result() {
  if (options_.output.empty()) return;
  if (options_.trainer.averaged) take_averages(model_);
  if (is_safetensors(options_.output)) {
    save_weights(model_, options_.output);
  } else {
    model_.export_inference(options_.output);
  }
  progress_.line("wrote " + options_.output);
}

int TrainRun::interrupted() {
  const TrainingCursor& cursor = trainer_.cursor();
  progress_.line("");
  std::cerr << "ondine: interrupted in epoch " << cursor.epoch + 1 << " after " << cursor.position
            << " of " << rows_ << " rows";
  if (options_.trainer.checkpoint.empty()) {
    std::cerr << "; nothing was saved (no --checkpoint)\n";
  } else {
    std::cerr << "; saved to '" << options_.trainer.checkpoint.string()
              << "', go on with --resume\n";
  }
  return InterruptGuard::exit_code();
}

}  // namespace ondine::cli
