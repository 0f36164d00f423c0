// Checks an operator-set document against the rules of the standard.
#pragma once

#include <span>

#include <ondine/limits.h>

#include "graph/check/findings.h"
#include "graph/contract/catalogue.h"
#include "graph/ir/operator_set.h"

namespace ondine::graph {

// Treatment of operators that the functions of a set use and nothing defines.
enum class Undefined { finding, ignored };

// Adds a finding for each violated rule: header, operators, functions and their bodies. `others`
// are functions of other sets, which those of this one may call. Names that are no identifiers are
// a warning unless the findings are strict. Functions are checked as those of a model; whether one
// exceeds Limits::nodes is known where it is called.
void check_operator_set(const OperatorSetDef& set, std::span<const FunctionDef> others,
                        Undefined undefined, const Catalogue& catalogue, const Limits& limits,
                        Findings& findings);

}  // namespace ondine::graph
