// Part of a prepared model behind the loss: derivatives and optimizer, in one algorithm or two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/training/prepare/loss.h"
#include "graph/training/prepare/privacy/private_gradients.h"
#include "graph/training/prepare/updates/optimizer.h"

namespace ondine::graph {

struct Updates {
  OptimizerValues optimizer;
  std::optional<TrainingInfoDef> apply;  // the second algorithm, for accumulated gradients
  std::vector<InitializerDef> state;     // to be added to the main graph
  std::vector<std::string> noise;        // of private gradients
  std::vector<std::string> points;       // what the network of a step reads for parameters
};

// Values that the loss reads, for gradients of single rows.
struct LossSources {
  const std::vector<std::string>* values = nullptr;
  const TypesOf* types_of = nullptr;
};

// Writes the updates of `trained` after the loss. `bindings` are those of the writer's algorithm.
// Throws Error(unsupported) for accumulated gradients of a scaled loss or of low precision, and
// what write_private_gradients() throws.
Updates write_updates(GraphWriter& writer, const ModelDef& model, const LossValues& loss,
                      const LossSources& sources, const std::vector<const InitializerDef*>& trained,
                      const PrepareOptions& options, LossScaler& scaler, Properties& bindings,
                      const OptimizerStart& start, const OptimizerPlan& plan);

// Metadata of the model about the updates besides the learning rate.
Properties update_properties(const Updates& updates, const std::vector<std::string>& trained,
                             const PrepareOptions& options);

}  // namespace ondine::graph
