#include "trainer/fit/early_stopping.h"

#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "trainer/metrics/catalogue.h"

namespace ondine::fit {
namespace {

bool is_larger_better(const EarlyStopping& options) {
  if (options.maximize) return *options.maximize;
  std::string_view name = options.metric;
  if (name.starts_with(validation_prefix)) name.remove_prefix(validation_prefix.size());
  return metrics::is_larger_better(name).value_or(name.find("accuracy") != std::string::npos);
}

void require_metric(const std::string& metric, const std::vector<std::string>& training,
                    const std::vector<std::string>& validation) {
  std::vector<std::string> known = training;
  for (const std::string& name : validation) known.push_back(std::string(validation_prefix) + name);
  if (std::find(known.begin(), known.end(), metric) != known.end()) return;
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + quoted(name);
  fail(ErrorCode::mismatch, "early stopping monitors ", quoted(metric), "; there are: ", names,
       validation.empty() ? " (without validation data)" : "");
}

}  // namespace

BestEpoch::BestEpoch(const EarlyStopping& options, const std::filesystem::path& checkpoint,
                     const std::vector<std::string>& training,
                     const std::vector<std::string>& validation)
    : options_(options),
      of_validation_(options.metric.starts_with(validation_prefix)),
      maximize_(is_larger_better(options)),
      metric_(of_validation_ ? options.metric.substr(validation_prefix.size()) : options.metric) {
  require_metric(options.metric, training, validation);
  if (!checkpoint.empty()) file_ = checkpoint.string() + ".best";
}

double BestEpoch::value_of(const EpochReport& report) const {
  return (of_validation_ ? report.validation : report.training)[metric_];
}

bool BestEpoch::judge(const EpochReport& report, Best& best) const {
  const double value = value_of(report);
  const bool better =
      !std::isnan(value) && (!best.value || (maximize_ ? value - *best.value > options_.min_delta
                                                       : *best.value - value > options_.min_delta));
  if (better) {
    best = {value, report.epoch, 0, report.step};
  } else {
    ++best.stale;
  }
  return better;
}

void BestEpoch::keep(const Model& model, const TrainingCursor& cursor,
                     const Properties& properties) {
  if (!options_.restore_best && file_.empty()) return;
  if (!file_.empty()) {
    model.save_checkpoint(file_, cursor, properties);
    return;
  }
  state_.clear();
  for (const StateInfo& variable : model.state()) {
    state_.emplace_back(variable.name, model.get_state(variable.name));
  }
}

void BestEpoch::restore(Model& model) const {
  if (file_.empty()) {
    model.set_state(state_);
  } else {
    model.restore_checkpoint(file_);
  }
}

}  // namespace ondine::fit
