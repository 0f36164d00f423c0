// One small change anywhere in a model: what turns a valid model into an invalid one.
#pragma once

#include "graph/ir/document.h"
#include "tests/fuzz/choices.h"

namespace ondine::test {

void change_model(graph::ModelDef& model, Choices& choices);

// A base model or one of one node, with up to three changes.
graph::ModelDef any_model(Choices& choices);

}  // namespace ondine::test
