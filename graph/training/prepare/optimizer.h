// Gradient, clipping and the optimizer of a prepared model.
#pragma once

#include <ondine/prepare.h>

#include "graph/training/prepare/loss.h"
#include "graph/training/prepare/loss_scale.h"
#include "graph/training/prepare/master_weight.h"

namespace ondine::graph {

struct WrittenOptimizer {
  std::string rate;  // the learning rate input
  Masters masters;
};

// Appends the derivatives of the loss, times the factor of `scaler`, by every trained parameter,
// and the optimizer with its state and the learning rate input. New values become outputs;
// `bindings` receives what they update.
WrittenOptimizer write_optimizer(GraphWriter& writer, const LossValues& loss,
                                 const std::vector<const InitializerDef*>& trained,
                                 const PrepareOptions& options, LossScaler& scaler,
                                 Properties& bindings);

}  // namespace ondine::graph
