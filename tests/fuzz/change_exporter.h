// Traces of programs that export models: producer, names of values, constants, metadata. They keep
// a valid model valid, and decide what `prepare` takes for a parameter.
#pragma once

#include "graph/ir/document.h"
#include "tests/fuzz/choices.h"

namespace ondine::test {

// One of them.
void change_exporter(graph::ModelDef& model, Choices& choices);

}  // namespace ondine::test
