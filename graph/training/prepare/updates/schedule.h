// The learning rate as a function of the optimizer's step count.
#pragma once

#include <string>

#include <ondine/prepare.h>

#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Whether the options ask for a rate that changes.
bool has_schedule(const PrepareOptions& options) noexcept;

// The rate of a step, a float32 scalar. base: the float32 base rate; step: the number of steps done
// before this one, int64.
std::string write_schedule(GraphWriter& writer, const ModelSchedule& schedule,
                           const std::string& base, const std::string& step);

// For people: "cosine to 0 over 1000 steps, warm-up of 100 steps".
std::string describe(const ModelSchedule& schedule);

}  // namespace ondine::graph
