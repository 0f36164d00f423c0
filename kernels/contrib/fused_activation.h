// The activations of FusedConv and FusedGemm, by the names of the standard's operators.
#pragma once

#include <string>
#include <vector>

#include "graph/contract/builder.h"

namespace ondine::kernels {

// Error(unsupported) for a name that is none; "" is none at all. `parameters` are as many as the
// activation has, or none: then they have the defaults of the standard.
void check_activation(const std::string& name, const std::vector<float>& parameters);
graph::Val activation(graph::Val x, const std::string& name, const std::vector<float>& parameters);

}  // namespace ondine::kernels
