// Training steps and initializations as inference models.
#pragma once

#include <ondine/lower.h>

#include "graph/ir/document.h"

namespace ondine::trainer {

// The model that ondine::lower() writes of `model`. Same errors.
graph::ModelDef lower_model(const graph::ModelDef& model, const LowerOptions& options,
                            const Limits& limits, LowerReport& report);

}  // namespace ondine::trainer
