// Options of learning rate schedules, which prepare and training share.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trainer/options/rows.h"

namespace ondine::options {

std::vector<std::pair<std::string, Schedule>> schedule_choices(bool has_plateau);

// schedule(target) is the Schedule that options change. A plateau waits for a metric of training,
// so that only training has it.
template <class Target, class Access>
void add_schedule(Rows<Target>& rows, bool has_plateau, Access schedule) {
  // Sets a member that the chosen schedule has; rows with conditions keep others away.
  const auto visit = [schedule](auto set) {
    return [schedule, set](Target& to, const auto& value) {
      std::visit([&](auto& one) { set(one, value); }, schedule(to));
    };
  };
  rows.template choice<Schedule>(
          "schedule", schedule_choices(has_plateau), "How the learning rate changes over the run",
          [schedule](Target& to, const Schedule& value) { schedule(to) = value; })
      .by_default("constant");
  rows.real("warmup", "FRACTION", "Fraction of all steps in which the rate rises",
            visit([](auto& one, double value) { one.warmup = value; }))
      .from(0)
      .below(1);
  std::vector<std::string> with_final{"cosine", "polynomial", "one-cycle"};
  std::vector<std::string> with_factor{"step"};
  if (has_plateau) with_final.emplace_back("plateau"), with_factor.emplace_back("plateau");
  rows.real("final-rate", "RATE", "Learning rate of the last step, or the least one of a plateau",
            visit([](auto& one, double value) {
              if constexpr (requires { one.final_rate; }) one.final_rate = value;
              if constexpr (requires { one.min_rate; }) one.min_rate = value;
            }))
      .from(0)
      .with("schedule", with_final);
  rows.real("step-factor", "FACTOR", "Factor of the learning rate at each fall; 0.1 if absent",
            visit([](auto& one, double value) {
              if constexpr (requires { one.factor; }) one.factor = value;
            }))
      .with("schedule", with_factor);
  rows.integer("step-every", "EPOCHS", "Epochs between two falls; 1 if absent",
               visit([](auto& one, std::int64_t value) {
                 if constexpr (requires { one.every; }) {
                   one.every = static_cast<std::uint64_t>(value);
                 }
               }))
      .from(1)
      .with("schedule", {"step"});
  rows.real("power", "POWER", "Power of the fall; 1 if absent", visit([](auto& one, double value) {
              if constexpr (requires { one.power; }) one.power = value;
            }))
      .with("schedule", {"polynomial"});
  if (!has_plateau) return;
  rows.integer("plateau-patience", "EPOCHS",
               "Epochs without improvement before the rate falls; 2 if absent",
               visit([](auto& one, std::int64_t value) {
                 if constexpr (requires { one.patience; }) {
                   one.patience = static_cast<std::uint64_t>(value);
                 }
               }))
      .from(1)
      .with("schedule", {"plateau"});
  rows.text("plateau-monitor", "METRIC", "Metric that must improve; val_loss if absent",
            visit([](auto& one, const Given& given) {
              if constexpr (requires { one.metric; }) one.metric = given.text();
            }))
      .with("schedule", {"plateau"});
}

}  // namespace ondine::options
