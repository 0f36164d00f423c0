// Running averages of the trained parameters, as state of the optimizer.
#pragma once

#include <ondine/prepare.h>

#include "graph/training/prepare/updates/rate_groups.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// The weight of a parameter's new value in its average. next_step: the number of this step, counted
// from 1, int64.
ScalarValue write_average_weight(GraphWriter& writer, const WeightAverage& average,
                                 const std::string& next_step);

struct AverageState {
  std::string name;
  std::string next;
  Tensor initial;
};
// `next`: the parameter's new value, of the type `dtype`, which the average has too.
AverageState write_average(GraphWriter& writer, const InitializerDef& parameter, DType dtype,
                           const std::string& next, ScalarValue& weight);

}  // namespace ondine::graph
