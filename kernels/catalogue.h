// Every operator of this build.
#pragma once

#include "graph/contract/catalogue.h"

namespace ondine::kernels {

// Built anew by each call; keep it.
graph::Catalogue catalogue();

}  // namespace ondine::kernels
