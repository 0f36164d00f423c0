// Settings of prepare, sensible ones as well as those at the edge of what is possible.
#pragma once

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "tests/fuzz/choices.h"

namespace ondine::test {

// Names that it needs are those of the model.
PrepareOptions any_prepare_options(Choices& choices, const graph::ModelDef& model);

}  // namespace ondine::test
