// Whether rows of several texts give what a row for each gives.
#pragma once

#include <string>

#include <ondine/model.h>

#include "graph/ir/document.h"

namespace ondine::text {

// Runs the main graph of a model that was prepared for packing on short rows of made-up ids, with
// its attention kept within segments, and compares `scores` of each token with those of a row for
// each segment. Throws Error(unsupported) where they differ, and for a model with other inputs than
// ids, a mask, positions, types and caches.
void check_packing(const graph::ModelDef& prepared, const std::string& scores,
                   const LoadOptions& load);

}  // namespace ondine::text
