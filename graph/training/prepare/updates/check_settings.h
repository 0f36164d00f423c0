// Settings of the updates of a prepared model.
#pragma once

#include <ondine/prepare.h>

namespace ondine::graph {

// Throws Error(mismatch) for settings of the optimizer, clipping, averages, groups, accumulation,
// the schedule or the loss scale that are out of range.
void check_update_settings(const PrepareOptions& options);

}  // namespace ondine::graph
