#include "graph/training/prepare/updates/schedule.h"

#include <cmath>
#include <numbers>
#include <sstream>

#include "graph/training/prepare/updates/check_schedule.h"

namespace ondine::graph {
namespace {

std::uint64_t warmup_steps(const ModelSchedule& schedule) {
  if (schedule.warmup_steps) return *schedule.warmup_steps;
  return static_cast<std::uint64_t>(
      std::llround(warmup_of(schedule.schedule) * static_cast<double>(schedule.steps)));
}

// The formulas of ondine/schedule.h. Differences of steps are taken as integers, so that float32
// keeps its precision near the end of long runs.
class ScheduleWriter {
 public:
  ScheduleWriter(GraphWriter& writer, const ModelSchedule& schedule, const std::string& base,
                 const std::string& step)
      : writer_(&writer),
        schedule_(&schedule),
        base_(base),
        step_(step),
        warmup_(warmup_steps(schedule)) {}

  std::string write() {
    const std::string fallen =
        std::visit([&](const auto& one) { return after_warmup(one); }, schedule_->schedule);
    const std::string rate = warmup_ == 0 ? fallen : chosen(risen(), fallen);
    return node("Identity", {rate}, "scheduled");
  }

 private:
  std::string node(const char* op, std::vector<std::string> inputs, const char* hint) {
    return writer_->node(op, std::move(inputs), base_ + "." + hint);
  }
  std::string number(const char* hint, double value) {
    return writer_->scalar(base_ + "." + hint, value, DType::float32);
  }
  std::string integer(const char* hint, std::uint64_t value) {
    return writer_->initializer(base_ + "." + hint,
                                Tensor::scalar(static_cast<std::int64_t>(value)));
  }
  std::string to_float(const std::string& value, const char* hint) {
    return writer_->cast(value, DType::float32, base_ + "." + hint);
  }

  // sin^2(pi x / 2) is (1 - cos(pi x)) / 2, without its cancellation.
  std::string half_cosine(const std::string& x) {
    const std::string quarter = number("quarter_turn", std::numbers::pi / 2);
    const std::string sine = node("Sin", {node("Mul", {x, quarter}, "angle")}, "sine");
    return node("Mul", {sine, sine}, "share");
  }

  // 1 during the warm-up and the first step after it, 0 at the last step and later; "" where the
  // run ends before.
  std::string remaining() {
    const std::uint64_t steps = schedule_->steps;
    if (steps <= warmup_ + 1) return {};
    const std::string left = node("Sub", {integer("last_step", steps - 1), step_}, "left");
    const std::string whole = number("falling_steps", static_cast<double>(steps - warmup_ - 1));
    const std::string most = node("Min", {to_float(left, "left"), whole}, "left");
    const std::string bounded = node("Max", {most, number("none_left", 0)}, "left");
    return node("Div", {bounded, whole}, "remaining");
  }

  // final_rate + (b - final_rate) share
  std::string towards(double final_rate, const std::string& share) {
    if (final_rate == 0) return node("Mul", {base_, share}, "falling");
    const std::string last = number("final", final_rate);
    const std::string above = node("Sub", {base_, last}, "above_final");
    return node("Add", {last, node("Mul", {above, share}, "falling")}, "falling");
  }

  std::string after_warmup(const ConstantSchedule&) { return base_; }
  std::string after_warmup(const PlateauSchedule&) { return base_; }  // check_schedule refuses it

  std::string after_warmup(const StepSchedule& one) {
    const std::string length = integer("fall_steps", schedule_->epoch_steps * one.every);
    const std::string falls = to_float(node("Div", {step_, length}, "falls"), "falls");
    const std::string factor = node("Pow", {number("factor", one.factor), falls}, "share");
    return node("Mul", {base_, factor}, "falling");
  }

  std::string after_warmup(const PolynomialSchedule& one) {
    const std::string rest = remaining();
    if (rest.empty()) return base_;
    if (one.power == 1) return towards(one.final_rate, rest);
    const std::string share = node("Pow", {rest, number("power", one.power)}, "share");
    return towards(one.final_rate, share);
  }

  // Cosine and one-cycle.
  template <class Falling>
  std::string after_warmup(const Falling& one) {
    const std::string rest = remaining();
    return rest.empty() ? base_ : towards(one.final_rate, half_cosine(rest));
  }

  // The rate during the warm-up.
  std::string risen() {
    const std::string done = to_float(step_, "steps");
    const auto steps = static_cast<double>(warmup_);
    const auto* cycle = std::get_if<OneCycleSchedule>(&schedule_->schedule);
    if (cycle == nullptr) {
      const std::string next = node("Add", {done, number("one", 1)}, "next_step");
      const std::string share = node("Div", {next, number("rising_steps", steps + 1)}, "risen");
      return node("Mul", {base_, share}, "rising");
    }
    const std::string share =
        half_cosine(node("Div", {done, number("rising_steps", steps)}, "risen"));
    const std::string rise = node("Mul", {share, number("rise", 1 - cycle->start)}, "rise");
    const std::string factor = node("Add", {rise, number("start", cycle->start)}, "rise");
    return node("Mul", {base_, factor}, "rising");
  }

  // Where is not in ai.onnx before 9; a factor of 0 or 1 keeps the other term as it is.
  std::string chosen(const std::string& rising, const std::string& falling) {
    const std::string since =
        node("Sub", {step_, integer("warmup_steps", warmup_)}, "since_warmup");
    const std::string bound = number("half_step", -0.5);
    const std::string is_late = node("Less", {bound, to_float(since, "since_warmup")}, "is_late");
    const std::string late = to_float(is_late, "late");
    const std::string early = to_float(node("Not", {is_late}, "is_early"), "early");
    const std::string first = node("Mul", {rising, early}, "early_rate");
    return node("Add", {first, node("Mul", {falling, late}, "late_rate")}, "rate");
  }

  GraphWriter* writer_;
  const ModelSchedule* schedule_;
  std::string base_;
  std::string step_;
  std::uint64_t warmup_;
};

void print(std::ostream& out, const ModelSchedule&, const ConstantSchedule&) { out << "constant"; }
void print(std::ostream& out, const ModelSchedule&, const PlateauSchedule&) { out << "plateau"; }
void print(std::ostream& out, const ModelSchedule& all, const StepSchedule& one) {
  out << "times " << one.factor << " every " << all.epoch_steps * one.every << " steps";
}
void print(std::ostream& out, const ModelSchedule& all, const CosineSchedule& one) {
  out << "cosine to " << one.final_rate << " over " << all.steps << " steps";
}
void print(std::ostream& out, const ModelSchedule& all, const PolynomialSchedule& one) {
  out << "polynomial of power " << one.power << " to " << one.final_rate << " over " << all.steps
      << " steps";
}
void print(std::ostream& out, const ModelSchedule& all, const OneCycleSchedule& one) {
  out << "one-cycle from times " << one.start << " to " << one.final_rate << " over " << all.steps
      << " steps";
}

}  // namespace

bool has_schedule(const PrepareOptions& options) noexcept {
  if (!options.schedule) return false;
  return !std::holds_alternative<ConstantSchedule>(options.schedule->schedule) ||
         warmup_steps(*options.schedule) != 0;
}

std::string write_schedule(GraphWriter& writer, const ModelSchedule& schedule,
                           const std::string& base, const std::string& step) {
  return ScheduleWriter(writer, schedule, base, step).write();
}

std::string describe(const ModelSchedule& schedule) {
  std::ostringstream text;
  std::visit([&](const auto& one) { print(text, schedule, one); }, schedule.schedule);
  const std::uint64_t warmup = warmup_steps(schedule);
  if (warmup != 0) text << ", warm-up of " << warmup << " steps";
  return text.str();
}

}  // namespace ondine::graph
