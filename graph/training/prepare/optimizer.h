// Gradient, clipping and the optimizer of a prepared model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/training/prepare/loss.h"
#include "graph/training/prepare/loss_scale.h"
#include "graph/training/prepare/master_weight.h"

namespace ondine::graph {

// An optimizer that another program began.
struct OptimizerStart {
  std::int64_t step = 0;  // steps made so far
  // By parameter, of its shape and type: Adam's mean and squares. Zeros where absent.
  std::map<std::string, std::vector<Tensor>, std::less<>> moments;
  bool corrects_bias = true;       // of Adam and AdamW
  bool decays_after_step = false;  // AdamW's decay reads the parameter that Adam has updated
};

struct WrittenOptimizer {
  std::string rate;  // the learning rate input
  Masters masters;
};

// Appends the derivatives of the loss, times the factor of `scaler`, by every trained parameter,
// and the optimizer with its state and the learning rate input. New values become outputs;
// `bindings` receives what they update. Throws Error(mismatch) for moments of another shape or
// type than their parameter.
WrittenOptimizer write_optimizer(GraphWriter& writer, const LossValues& loss,
                                 const std::vector<const InitializerDef*>& trained,
                                 const PrepareOptions& options, LossScaler& scaler,
                                 Properties& bindings, const OptimizerStart& start = {});

}  // namespace ondine::graph
