// The learning rate of every step of a run.
#pragma once

#include <optional>
#include <string>

#include <ondine/trainer.h>

namespace ondine::fit {

// Error(mismatch) for values that make no sense.
void require_valid(const Schedule& schedule);
// One rate all the time.
bool is_constant(const Schedule& schedule);

// Length of a run in steps.
struct RunLength {
  std::uint64_t epoch = 0;
  std::uint64_t run = 0;
};

// The rate of a step, counted from 0 over the whole run, after `drops` plateaus; a pure function.
double rate_at(const Schedule& schedule, double base, std::uint64_t step, const RunLength& length,
               std::uint64_t drops = 0);

// What a resumed run must have in common with its first part; empty for a constant rate.
std::string describe(const Schedule& schedule, const RunLength& length);

}  // namespace ondine::fit
