// Models and graphs as text for people: a line for each node. Not a format that is read back.
#pragma once

#include <string>

#include "graph/ir/document.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// Everything a model has, large values shortened. Names are escaped, so that the text is safe to
// show whatever the model holds.
//   y: tensor(float)[N, 4] = Gemm-13(x, w) {alpha = 0.5}
std::string print(const ModelDef& model);
// The same for a resolved graph, with inferred types; bodies below their node.
std::string print(const Graph& graph);

}  // namespace ondine::graph
