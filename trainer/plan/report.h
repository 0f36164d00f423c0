// A plan described for people: implementations, storage, lifetimes, the peak.
#pragma once

#include <span>

#include <ondine/plan.h>

#include "trainer/plan/plan.h"

namespace ondine::trainer {

// `inputs` says where each of graph.inputs comes from; `in_place` is that of the plan's options.
// arena, constant and workspace totals are filled in, state_bytes is not.
PlanReport report_plan(const Plan& plan, std::span<const Storage> inputs,
                       std::span<const InPlace> in_place);

}  // namespace ondine::trainer
