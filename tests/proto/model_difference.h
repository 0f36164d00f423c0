#pragma once

#include <string>

#include "graph/ir/document.h"

namespace ondine::test {

// First place where two models differ, as numbers of members and elements from the outside in; ""
// if they are equal in every part.
std::string model_difference(const graph::ModelDef& a, const graph::ModelDef& b);

}  // namespace ondine::test
