// Derivatives of a prepared model's loss, and their clipping.
#pragma once

#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/training/prepare/loss.h"
#include "graph/training/prepare/updates/loss_scale.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Appends the derivatives of the loss, times the factor of `scaler`, by every trained parameter.
// Returns them in the types of the updates (updated_type), without the factor.
std::vector<std::string> write_gradients(GraphWriter& writer, const LossValues& loss,
                                         const std::vector<const InitializerDef*>& trained,
                                         LossScaler& scaler);

// Bounds each element as options.clip_value says, then the norm over all gradients together as
// options.clip_norm says.
void write_clipping(GraphWriter& writer, std::vector<std::string>& gradients,
                    const std::vector<const InitializerDef*>& trained,
                    const PrepareOptions& options);

}  // namespace ondine::graph
