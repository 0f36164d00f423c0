// The learning rate of every step of a run.
#pragma once

#include <optional>
#include <string>

#include <ondine/trainer.h>

namespace ondine::fit {

// "constant", "one-cycle" and so on. Static storage.
const char* name_of(const Schedule& schedule);

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

// Description of the schedule, which a resumed run must have in common with its first part; empty
// for a constant rate.
std::string describe(const Schedule& schedule, const RunLength& length);

// A schedule that prepare() wrote into a model.
struct ModelRate {
  std::string schedule;  // for people
  std::string output;    // of the algorithm: the rate of a step, one float32
};
// Schedule of the algorithm that updates; nothing if the model has none.
std::optional<ModelRate> find_model_rate(const Model& model, std::size_t update);

}  // namespace ondine::fit
