// The standard's rules on a model as it is written, whatever its operators do.
#pragma once

#include <ondine/limits.h>

#include "graph/check/findings.h"
#include "graph/contract/catalogue.h"
#include "graph/ir/document.h"

namespace ondine::graph {

// Adds every broken rule, every operator that neither the catalogue nor the model's functions have,
// and every bound that the model exceeds. Time and memory are linear in the size of the model, also
// where its functions would expand to much more. Without findings names can be resolved and
// functions inlined safely.
void check_structure(const ModelDef& model, const Catalogue& catalogue, const Limits& limits,
                     Findings& findings);

}  // namespace ondine::graph
