#include "graph/training/prepare/updates/check_schedule.h"

#include <cmath>

#include "core/message.h"

namespace ondine::graph {
namespace {

constexpr std::uint64_t max_steps = std::uint64_t{1} << 53;

void require(bool holds, const char* what, double value) {
  if (!holds) fail(ErrorCode::mismatch, "the ", what, ", it is ", value);
}

bool is_rate(double value) { return std::isfinite(value) && value >= 0; }

void check(const ConstantSchedule&) {}
void check(const StepSchedule& one) {
  require(one.every > 0, "epochs between steps of the rate must be positive",
          static_cast<double>(one.every));
  require(std::isfinite(one.factor) && one.factor > 0, "factor of a schedule must be positive",
          one.factor);
}
void check(const CosineSchedule& one) {
  require(is_rate(one.final_rate), "final rate must not be negative", one.final_rate);
}
void check(const PolynomialSchedule& one) {
  require(is_rate(one.final_rate), "final rate must not be negative", one.final_rate);
  require(std::isfinite(one.power) && one.power > 0, "power of a schedule must be positive",
          one.power);
}
void check(const OneCycleSchedule& one) {
  require(is_rate(one.final_rate), "final rate must not be negative", one.final_rate);
  require(one.start >= 0 && one.start <= 1, "start of a one-cycle schedule must be a fraction",
          one.start);
}
void check(const PlateauSchedule& one) {
  require(one.patience > 0, "patience of a schedule must be positive",
          static_cast<double>(one.patience));
  require(one.factor > 0 && one.factor < 1, "factor of a plateau schedule must be between 0 and 1",
          one.factor);
  require(one.min_delta >= 0, "least improvement must not be negative", one.min_delta);
  require(is_rate(one.min_rate), "least rate must not be negative", one.min_rate);
}

void require_step_lengths(const ModelSchedule& schedule, const StepSchedule& steps) {
  if (schedule.epoch_steps == 0) {
    fail(ErrorCode::mismatch,
         "a step schedule in a model needs the number of steps of an epoch (--epoch-steps)");
  }
  if (schedule.epoch_steps > max_steps / steps.every) {
    fail(ErrorCode::mismatch, "the rate would fall every ", schedule.epoch_steps, " x ",
         steps.every, " steps; more than ", max_steps, " cannot be counted");
  }
}

}  // namespace

double warmup_of(const Schedule& schedule) {
  return std::visit([](const auto& one) { return one.warmup; }, schedule);
}

void check_schedule(const Schedule& schedule) {
  const double warmup = warmup_of(schedule);
  require(warmup >= 0 && warmup < 1, "warm-up must be at least 0 and below 1", warmup);
  std::visit([](const auto& one) { check(one); }, schedule);
}

void check_schedule(const ModelSchedule& schedule) {
  check_schedule(schedule.schedule);
  if (std::holds_alternative<PlateauSchedule>(schedule.schedule)) {
    fail(ErrorCode::mismatch,
         "a plateau schedule waits for a metric of the run, which the steps of a model do not "
         "know; choose it when training (train --schedule plateau)");
  }
  const auto* steps = std::get_if<StepSchedule>(&schedule.schedule);
  if (steps != nullptr) require_step_lengths(schedule, *steps);
  const bool ends =
      steps == nullptr && !std::holds_alternative<ConstantSchedule>(schedule.schedule);
  const bool is_fraction = !schedule.warmup_steps && warmup_of(schedule.schedule) != 0;
  if (schedule.steps == 0 && (ends || is_fraction)) {
    fail(ErrorCode::mismatch, ends ? "the schedule" : "a fraction of all steps as warm-up",
         " needs the number of steps of the whole run, which is epochs times updates of an epoch "
         "(--schedule-steps)");
  }
  const std::uint64_t warmup = schedule.warmup_steps.value_or(0);
  if (schedule.steps > max_steps || warmup > max_steps) {
    fail(ErrorCode::mismatch, "a schedule counts at most ", max_steps, " steps");
  }
  if (schedule.steps != 0 && warmup >= schedule.steps) {
    fail(ErrorCode::mismatch, "the warm-up of ", warmup, " steps must be shorter than the run of ",
         schedule.steps);
  }
}

}  // namespace ondine::graph
