// Describes a plan as a PlanReport.
#pragma once

#include <span>

#include <ondine/plan.h>

#include "trainer/plan/plan.h"

namespace ondine::trainer {

// `inputs` is the storage of each of graph.inputs; `in_place` is that of the plan's options. Leaves
// state_bytes 0.
PlanReport report_plan(const Plan& plan, std::span<const Storage> inputs,
                       std::span<const InPlace> in_place);

}  // namespace ondine::trainer
