// What follows the loss of a prepared model: derivatives and optimizer, in one algorithm or two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/training/prepare/loss.h"
#include "graph/training/prepare/updates/optimizer.h"

namespace ondine::graph {

struct Updates {
  OptimizerValues optimizer;
  std::optional<TrainingInfoDef> apply;  // the second algorithm, for accumulated gradients
  std::vector<InitializerDef> state;     // to be added to the main graph
};

// Writes the updates of `trained` after the loss. `bindings` are those of the writer's algorithm.
// Throws Error(unsupported) for accumulated gradients of a scaled loss or of low precision.
Updates write_updates(GraphWriter& writer, const GraphDef& main, const LossValues& loss,
                      const std::vector<const InitializerDef*>& trained,
                      const PrepareOptions& options, LossScaler& scaler, Properties& bindings,
                      const OptimizerStart& start);

// What the model's metadata says about them besides the learning rate.
Properties update_properties(const Updates& updates, const std::vector<std::string>& trained,
                             const PrepareOptions& options);

}  // namespace ondine::graph
