// Changes of algorithms, Gradient nodes, bindings, state and functions that keep most of a model
// valid.
#pragma once

#include "graph/ir/document.h"
#include "tests/fuzz/choices.h"

namespace ondine::test {

// One of them. Does nothing to a model without training information.
void change_training(graph::ModelDef& model, Choices& choices);

}  // namespace ondine::test
