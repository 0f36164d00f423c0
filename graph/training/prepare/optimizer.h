// Gradient, clipping and the optimizer of a prepared model.
#pragma once

#include <ondine/prepare.h>

#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// Appends the derivatives of `loss` by every trained parameter, the optimizer with its state and
// the learning rate input, whose name it returns. New values become outputs; `bindings` receives
// what they update.
std::string write_optimizer(GraphWriter& writer, const std::string& loss,
                            const std::vector<const InitializerDef*>& trained,
                            const PrepareOptions& options, Properties& bindings);

}  // namespace ondine::graph
