#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ostream>

#include <ondine/printable.h>
#include <ondine/trainer.h>

#include "core/message.h"

namespace ondine {
namespace {

// Rounded for people.
struct Rounded {
  double value;
};

std::ostream& operator<<(std::ostream& out, Rounded rounded) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", rounded.value);
  return out << text.data();
}

}  // namespace

const double* Metrics::find(std::string_view name) const noexcept {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found == values_.end() ? nullptr : &found->second;
}

double Metrics::operator[](std::string_view name) const {
  if (const double* value = find(name)) return *value;
  std::string names;
  for (const auto& one : values_) names += (names.empty() ? "" : ", ") + quoted(one.first);
  fail(ErrorCode::not_found, "there is no metric ", quoted(name),
       "; there are: ", names.empty() ? "none" : names);
}

void Metrics::set(std::string_view name, double value) {
  for (auto& [key, stored] : values_) {
    if (key == name) {
      stored = value;
      return;
    }
  }
  values_.emplace_back(name, value);
}

std::ostream& operator<<(std::ostream& out, const Metrics& metrics) {
  const char* separator = "";
  for (const auto& [name, value] : metrics) {
    out << separator << printable(name) << ' ' << Rounded{value};
    separator = ", ";
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const EpochReport& report) {
  if (report.fold != 0) out << "fold " << report.fold << ", ";
  out << "epoch " << report.epoch << '/' << report.epochs;
  if (report.step != 0) out << ", step " << report.step;
  out << ": " << report.training;
  for (const auto& [name, value] : report.validation) {
    out << ", validation " << name << ' ' << Rounded{value};
  }
  if (report.learning_rate) out << ", learning rate " << Rounded{*report.learning_rate};
  out << ", " << Rounded{std::round(report.seconds * 100) / 100} << " s";
  if (report.data_wait && report.seconds > 0) {
    out << ", data wait " << Rounded{std::round(*report.data_wait / report.seconds * 100)} << " %";
  }
  if (report.epsilon && report.delta) {
    out << ", epsilon " << Rounded{*report.epsilon} << " at delta " << Rounded{*report.delta};
  }
  return out;
}

const char* to_string(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::completed:
      return "completed";
    case StopReason::early_stopping:
      return "stopped early";
    case StopReason::step_limit:
      return "stopped at the step limit";
    case StopReason::time_limit:
      return "stopped at the time limit";
    case StopReason::requested:
      break;
  }
  return "stopped on request";
}

std::ostream& operator<<(std::ostream& out, const FitReport& report) {
  out << to_string(report.reason) << " after " << report.epochs
      << (report.epochs == 1 ? " epoch" : " epochs");
  if (report.already_finished) out << ", before this run";
  if (report.best_value) {
    out << "; best epoch " << report.best_epoch;
    if (report.best_step != 0) out << ", step " << report.best_step;
    out << ": " << Rounded{*report.best_value} << (report.restored_best ? ", restored" : "");
  }
  return out;
}

}  // namespace ondine
