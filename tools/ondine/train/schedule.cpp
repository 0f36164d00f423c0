#include <string>

#include "ondine/train/train_run.h"

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

}  // namespace

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

}  // namespace ondine::cli
