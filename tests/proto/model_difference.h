#pragma once

#include <string>

#include "graph/ir/document.h"

namespace ondine::test {

// Where two models differ first, as numbers of members and elements from the outside in; "" when
// they are equal in every part.
std::string model_difference(const graph::ModelDef& a, const graph::ModelDef& b);

}  // namespace ondine::test
