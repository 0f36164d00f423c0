// The rules of optimizers (docs/optimizers.md): each appends the step of one parameter and its
// states, and returns what the parameter becomes.
#pragma once

#include <string>

#include <ondine/prepare.h>

#include "graph/training/prepare/renaming.h"
#include "graph/training/prepare/updates/step.h"

namespace ondine::graph {

std::string write_lion(StepWriter& writer, const ParameterStep& step, const Lion& settings);
std::string write_adafactor(StepWriter& writer, const ParameterStep& step);
// Of a hidden matrix.
std::string write_muon(StepWriter& writer, const ParameterStep& step, const Muon& settings);
// Moments in blocks of `block` elements.
std::string write_adamw8(StepWriter& writer, const ParameterStep& step, const AdamW8& settings,
                         std::int64_t block);

// The points at which a step of ScheduleFree computes loss and gradient.
struct Points {
  Renaming values;   // by parameter: what the network of the step reads in its place
  Renaming offsets;  // by parameter: the state
};
// Throws Error(unsupported) for parameters of low precision.
Points write_points(GraphWriter& writer, const std::vector<const InitializerDef*>& trained,
                    const ScheduleFree& settings);
std::string write_schedule_free(StepWriter& writer, const ParameterStep& step,
                                const ScheduleFree& settings, const Points& points);

}  // namespace ondine::graph
