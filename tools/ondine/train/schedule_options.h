// Options of learning rate schedules, which `train` and `prepare` share.
#pragma once

#include <optional>
#include <string>

#include <ondine/schedule.h>

#include "ondine/command.h"

namespace ondine::cli {

enum class ScheduleKind { constant, step, cosine, polynomial, one_cycle, plateau };

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::constant;
  bool is_chosen = false;  // by --schedule
  std::optional<float> warmup;
  std::optional<float> final_rate;
  std::optional<float> factor;
  std::optional<std::uint64_t> every;
  std::optional<float> power;
  std::optional<std::uint64_t> patience;
  std::string metric;
};

// What a model must know of the run.
struct ScheduleSteps {
  std::optional<std::uint64_t> run;
  std::optional<std::uint64_t> epoch;
  std::optional<std::uint64_t> warmup;
};

// Of a run.
void add_run_schedule(Command command, ScheduleOptions& options);
// Of a model, which knows no metric to wait for.
void add_model_schedule(Command command, ScheduleOptions& options, ScheduleSteps& steps);

// Throws Error(mismatch) for options that the schedule does not have.
Schedule make_schedule(const ScheduleOptions& options);
// Nothing where no option asks for a schedule. Throws as make_schedule does, and for steps without
// a schedule.
std::optional<ModelSchedule> make_model_schedule(const ScheduleOptions& options,
                                                 const ScheduleSteps& steps);

}  // namespace ondine::cli
