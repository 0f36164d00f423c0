// Every operator of this build.
#pragma once

#include "graph/contract/catalogue.h"

namespace ondine::kernels {

// Built anew by each call; keep it.
graph::Catalogue catalogue();

// The name of an operator's line in kernels/operators.inc; "" for others.
std::string_view identifier(const graph::OpDef& op) noexcept;

}  // namespace ondine::kernels
