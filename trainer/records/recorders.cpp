#include "trainer/records/recorders.h"

#include "trainer/fit/accumulation.h"
#include "trainer/fit/schedule.h"
#include "trainer/records/log_folder.h"
#include "trainer/records/report_page.h"
#include "trainer/records/run_facts.h"

namespace ondine::records {
namespace {

LogFolderOptions log_options(const TrainerOptions& options,
                             std::optional<std::uint64_t> resumed_at) {
  return {options.log_dir, options.overwrite, resumed_at};
}

// Nothing for a model that does not say it, or schedules it.
std::optional<double> constant_rate(const Model& model, const TrainerOptions& options) {
  if (fit::find_model_rate(model, fit::update_algorithm(model, options))) return {};
  if (options.learning_rate) return static_cast<double>(*options.learning_rate);
  for (const auto& [name, value] : options.constants) {
    if (name.find("learning_rate") != std::string::npos) return value;
  }
  try {
    return static_cast<double>(model.learning_rate(fit::update_algorithm(model, options)));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void require_records(const TrainerOptions& options, bool resumed) {
  if (!options.log_dir.empty()) {
    require_log_folder(
        log_options(options, resumed ? std::optional<std::uint64_t>(0) : std::nullopt));
  }
  if (!options.report.empty()) require_writable(options.report);
}

Recorders::Recorders(const Model& model, const TrainerOptions& options, const Dataset& training,
                     const Dataset& validation, std::optional<std::uint64_t> resumed_at) {
  if (options.log_dir.empty() && options.report.empty()) return;
  rate_ = constant_rate(model, options);
  if (!options.log_dir.empty()) {
    recorders_.push_back(std::make_unique<LogFolder>(log_options(options, resumed_at)));
  }
  if (!options.report.empty()) {
    recorders_.push_back(std::make_unique<ReportPage>(
        options.report, "Training report", run_facts(model, options, training, validation),
        class_names(model)));
  }
}

template <class Use>
void Recorders::each(const Use& use) {
  for (auto& recorder : recorders_) {
    try {
      use(*recorder);
    } catch (const std::exception& error) {
      if (note_.empty()) note_ = error.what();
      recorder.reset();
    }
  }
  std::erase(recorders_, nullptr);
}

double Recorders::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void Recorders::step(const StepReport& report, std::uint64_t step) {
  if (recorders_.empty()) return;
  const StepRecord record{step, seconds(), report.learning_rate ? report.learning_rate : rate_,
                          &report};
  each([&](Recorder& one) { one.step(record); });
}

void Recorders::epoch(const EpochReport& report, const std::vector<fit::WorstError>& worst) {
  if (recorders_.empty()) return;
  const EpochRecord record{seconds(), report.learning_rate ? report.learning_rate : rate_, &report,
                           &worst};
  each([&](Recorder& one) { one.epoch(record); });
}

void Recorders::end(const std::string& outcome, bool failed) noexcept {
  const double time = seconds();
  each([&](Recorder& one) { one.end(outcome, failed, time); });
}

}  // namespace ondine::records
