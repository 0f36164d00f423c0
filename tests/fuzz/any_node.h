// A model of one node of any operator and version of the standard.
#pragma once

#include "graph/ir/document.h"
#include "tests/fuzz/choices.h"

namespace ondine::test {

// Inputs of allowed types, attributes of the right kinds; shapes and values are anything, so that
// some of these models are right and many are wrong. Where the first output is a floating point
// tensor, the model may have an algorithm that takes the derivative of its sum by every input.
graph::ModelDef any_node_model(Choices& choices);
// Model of one call of operator number `index` of graph::all_signatures(), chosen likewise.
graph::ModelDef any_node_model(Choices& choices, std::size_t index);

}  // namespace ondine::test
