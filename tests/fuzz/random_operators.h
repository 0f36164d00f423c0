#pragma once

#include "graph/ir/document.h"

namespace ondine::test {

// Whether some node, in subgraphs and functions too, draws random numbers.
bool has_random_operators(const graph::ModelDef& model);

}  // namespace ondine::test
