// Entries that a model has twice. The standard wants one; two that say the same do no harm.
#pragma once

#include "graph/check/findings.h"
#include "graph/ir/document.h"

namespace ondine::graph {

// Whether both declare the same, apart from denotations.
bool same_type(const TypeDef& a, const TypeDef& b);

// Removes inputs and initializers that repeat an earlier one of the same graph, with a warning for
// each; does nothing when `findings` are strict. Looks at the main graph and at those of the
// training information. Returns whether anything was removed.
bool remove_repeated_entries(ModelDef& model, Findings& findings);

}  // namespace ondine::graph
