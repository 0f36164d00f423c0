// Derivatives as inference models.
#pragma once

#include <ondine/lower.h>

#include "graph/ir/document.h"

namespace ondine::trainer {

// The model that ondine::differentiate() writes of `model`. Same errors.
graph::ModelDef differentiate_model(const graph::ModelDef& model,
                                    const DifferentiateOptions& options, const Limits& limits,
                                    LowerReport& report);

}  // namespace ondine::trainer
