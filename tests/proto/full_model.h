#pragma once

#include "graph/ir/document.h"

namespace ondine::test {

// A model with something in every member of every struct. It means nothing.
graph::ModelDef full_model();

}  // namespace ondine::test
