#include "ondine/train/schedule_options.h"

#include <map>

#include <ondine/error.h>

namespace ondine::cli {
namespace {

// Takes options one by one, so that the remaining ones can be rejected.
class Taker {
 public:
  explicit Taker(const ScheduleOptions& options) : rest_(options) {}

  template <class Value, class Target>
  void take(std::optional<Value> ScheduleOptions::*option, Target& target) {
    if (const std::optional<Value>& value = rest_.*option) target = static_cast<Target>(*value);
    (rest_.*option).reset();
  }

  void take_metric(std::string& target) {
    if (!rest_.metric.empty()) target = rest_.metric;
    rest_.metric.clear();
  }

  void require_nothing_left() const {
    const auto refuse = [](bool given, const char* name) {
      if (given)
        throw Error(ErrorCode::mismatch, std::string(name) + " does not apply to this --schedule");
    };
    refuse(rest_.final_rate.has_value(), "--final-rate");
    refuse(rest_.factor.has_value(), "--step-factor");
    refuse(rest_.every.has_value(), "--step-every");
    refuse(rest_.power.has_value(), "--power");
    refuse(rest_.patience.has_value(), "--plateau-patience");
    refuse(!rest_.metric.empty(), "--plateau-monitor");
  }

 private:
  ScheduleOptions rest_;
};

Schedule schedule_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::step:
      return StepSchedule{};
    case ScheduleKind::cosine:
      return CosineSchedule{};
    case ScheduleKind::polynomial:
      return PolynomialSchedule{};
    case ScheduleKind::one_cycle:
      return OneCycleSchedule{};
    case ScheduleKind::plateau:
      return PlateauSchedule{};
    case ScheduleKind::constant:
      break;
  }
  return ConstantSchedule{};
}

// Whether any of them was given.
bool asks_for_schedule(const ScheduleOptions& options) {
  return options.is_chosen || options.warmup || options.final_rate || options.factor ||
         options.every || options.power;
}

// All but those of a plateau, which has also some of these. Returns --warmup.
Option add_schedule(Command command, ScheduleOptions& options, bool has_plateau) {
  std::map<std::string, ScheduleKind> kinds{{"constant", ScheduleKind::constant},
                                            {"step", ScheduleKind::step},
                                            {"cosine", ScheduleKind::cosine},
                                            {"polynomial", ScheduleKind::polynomial},
                                            {"one-cycle", ScheduleKind::one_cycle}};
  if (has_plateau) kinds.emplace("plateau", ScheduleKind::plateau);
  const std::string start = "How the learning rate changes over the run: constant, step, cosine, ";
  command.choice(
      "--schedule", &options.kind, kinds,
      start + (has_plateau ? "polynomial, one-cycle or plateau" : "polynomial or one-cycle"),
      &options.is_chosen);
  Option warmup =
      command.option("--warmup", &options.warmup, "Fraction of all steps in which the rate rises");
  command.option("--final-rate", &options.final_rate,
                 std::string("Rate of the last step, for cosine, polynomial and one-cycle") +
                     (has_plateau ? "; the least one for plateau" : ""));
  command.option("--step-factor", &options.factor,
                 std::string("Factor per step, for the ") +
                     (has_plateau ? "schedules step and plateau" : "schedule step") +
                     "; 0.1 if absent");
  command.option("--step-every", &options.every, "Epochs between two steps; 1 if absent");
  command.option("--power", &options.power, "Power, for the schedule polynomial; 1 if absent");
  return warmup;
}

}  // namespace

void add_run_schedule(Command command, ScheduleOptions& options) {
  add_schedule(command, options, true);
  command.option("--plateau-patience", &options.patience,
                 "Epochs without improvement before the rate falls; 2 if absent");
  command.option("--plateau-monitor", &options.metric,
                 "Metric that must improve, for the schedule plateau; val_loss if absent");
}

void add_model_schedule(Command command, ScheduleOptions& options, ScheduleSteps& steps) {
  const Option warmup = add_schedule(command, options, false);
  command
      .option(
          "--schedule-steps", &steps.run,
          "Updates of the whole run, which schedules in a model must know: epochs times updates "
          "of an epoch")
      .positive();
  command.option("--epoch-steps", &steps.epoch, "Updates of an epoch, for the schedule step")
      .positive();
  command.option("--warmup-steps", &steps.warmup, "Updates in which the rate rises")
      .excludes(warmup);
}

Schedule make_schedule(const ScheduleOptions& options) {
  Schedule result = schedule_of(options.kind);
  Taker taker(options);
  std::visit(
      [&](auto& schedule) {
        taker.take(&ScheduleOptions::warmup, schedule.warmup);
        if constexpr (requires { schedule.final_rate; }) {
          taker.take(&ScheduleOptions::final_rate, schedule.final_rate);
        }
        if constexpr (requires { schedule.factor; }) {
          taker.take(&ScheduleOptions::factor, schedule.factor);
        }
        if constexpr (requires { schedule.every; }) {
          taker.take(&ScheduleOptions::every, schedule.every);
        }
        if constexpr (requires { schedule.min_rate; }) {
          taker.take(&ScheduleOptions::final_rate, schedule.min_rate);
          taker.take(&ScheduleOptions::patience, schedule.patience);
          taker.take_metric(schedule.metric);
        }
        if constexpr (requires { schedule.power; }) {
          taker.take(&ScheduleOptions::power, schedule.power);
        }
      },
      result);
  taker.require_nothing_left();
  return result;
}

std::optional<ModelSchedule> make_model_schedule(const ScheduleOptions& options,
                                                 const ScheduleSteps& steps) {
  if (!asks_for_schedule(options) && !steps.warmup) {
    if (!steps.run && !steps.epoch) return {};
    throw Error(ErrorCode::mismatch, std::string(steps.run ? "--schedule-steps" : "--epoch-steps") +
                                         " needs --schedule or --warmup");
  }
  ModelSchedule result;
  result.schedule = make_schedule(options);
  result.steps = steps.run.value_or(0);
  result.epoch_steps = steps.epoch.value_or(0);
  result.warmup_steps = steps.warmup;
  return result;
}

}  // namespace ondine::cli
