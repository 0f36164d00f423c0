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
// The Muon step of a hidden matrix.
std::string write_muon(StepWriter& writer, const ParameterStep& step, const Muon& settings);
// Moments in blocks of `block` elements.
std::string write_adamw8(StepWriter& writer, const ParameterStep& step, const AdamW8& settings,
                         std::int64_t block);

// In matrices for which has_low_rank() is true.
std::string write_galore(StepWriter& writer, const ParameterStep& step, const GaLore& settings);
std::string write_apollo(StepWriter& writer, const ParameterStep& step, const Apollo& settings);

// The points at which a step of ScheduleFree or Mezo computes its loss.
struct Points {
  Renaming values;        // by parameter: what the network of the step reads in its place
  Renaming offsets;       // by parameter: what leads there, of ScheduleFree a state
  Renaming opposites;     // by value of `values`: the point on the other side, of Mezo
  std::size_t nodes = 0;  // of the graph, before the network reads the points
};
// Throws Error(unsupported) for parameters of low precision.
Points write_points(GraphWriter& writer, const std::vector<const InitializerDef*>& trained,
                    const ScheduleFree& settings);
std::string write_schedule_free(StepWriter& writer, const ParameterStep& step,
                                const ScheduleFree& settings, const Points& points);

}  // namespace ondine::graph
