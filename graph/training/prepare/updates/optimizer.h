// The optimizer of a prepared model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/training/prepare/updates/loss_scale.h"
#include "graph/training/prepare/updates/master_weight.h"
#include "graph/training/prepare/updates/roles.h"
#include "graph/training/prepare/updates/rules.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

struct OptimizerValues {
  std::string rate;                   // the input for the learning rate
  std::string scheduled;              // the output with the rate of the step; "" without a schedule
  std::vector<std::string> averages;  // state of each trained parameter; empty without averages
  Masters masters;
};

// An optimizer that another program began.
struct OptimizerStart {
  std::int64_t step = 0;  // steps made so far
  // Adam's mean and squares by parameter, of its shape and type. Zeros where absent.
  std::map<std::string, std::vector<Tensor>, std::less<>> moments;
  bool corrects_bias = true;       // of Adam and AdamW
  bool decays_after_step = false;  // AdamW's decay reads the parameter that Adam has updated
};

// Facts about the network that the steps depend on.
struct OptimizerPlan {
  ParameterRoles roles;
  Points points;  // of ScheduleFree
};

// Appends clipping, the optimizer with its state and the learning rate input. `gradients` are of
// the types of the updates. New values become outputs; `bindings` receives what they update. Throws
// Error(mismatch) for moments of another shape or type than their parameter.
OptimizerValues write_optimizer(GraphWriter& writer, std::vector<std::string> gradients,
                                const std::vector<const InitializerDef*>& trained,
                                const PrepareOptions& options, LossScaler& scaler,
                                Properties& bindings, const OptimizerStart& start,
                                const OptimizerPlan& plan);

}  // namespace ondine::graph
