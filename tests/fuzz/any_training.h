// Training models that are valid, with every part that TrainingInfoProto has.
#pragma once

#include "graph/ir/document.h"
#include "tests/fuzz/choices.h"

namespace ondine::test {

// A network (any_network.h) with a loss, derivatives of first or second order, an update rule with
// its state, bindings and an initialization; sometimes a second algorithm that counts.
graph::ModelDef any_training_model(Choices& choices);

}  // namespace ondine::test
