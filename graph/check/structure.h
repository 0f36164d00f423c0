// Checks a model definition against the rules of the standard that do not depend on operators'
// semantics.
#pragma once

#include <ondine/limits.h>

#include "graph/check/findings.h"
#include "graph/contract/catalogue.h"
#include "graph/ir/document.h"

namespace ondine::graph {

// Adds a finding for each violated rule, each operator that neither the catalogue nor the model's
// functions define, and each exceeded limit. Time and memory are linear in the size of the model,
// even if its functions expand to much more. A model without findings is safe to resolve: names are
// defined and inlining terminates within the limits.
void check_structure(const ModelDef& model, const Catalogue& catalogue, const Limits& limits,
                     Findings& findings);

}  // namespace ondine::graph
