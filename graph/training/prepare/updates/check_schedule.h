// Settings of learning rate schedules.
#pragma once

#include <ondine/schedule.h>

namespace ondine::graph {

double warmup_of(const Schedule& schedule);

// Error(mismatch) for values that make no sense.
void check_schedule(const Schedule& schedule);
// Error(mismatch) likewise, and for a schedule that a model cannot compute: one that waits for a
// metric, or whose lengths are missing or out of range.
void check_schedule(const ModelSchedule& schedule);

}  // namespace ondine::graph
