// Valid models to start from, each with other parts of the standard in it.
#pragma once

#include <vector>

#include "graph/ir/document.h"

namespace ondine::test {

const std::vector<graph::ModelDef>& base_models();

}  // namespace ondine::test
