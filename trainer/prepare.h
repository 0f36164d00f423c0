// Functions that preparing and importing share.
#pragma once

#include <ondine/model.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/values.h"

namespace ondine::trainer {

// Types of the values of the main graph. Throws Error with all findings on the model; empty where
// its graph does not resolve, which is found again, and reported, when the model is put together.
graph::ValueTypes types_of(const graph::ModelDef& def, const LoadOptions& load);

}  // namespace ondine::trainer
