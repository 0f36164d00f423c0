// Human-readable text of models and graphs, one line per node. Not meant to be parsed.
#pragma once

#include <string>

#include "graph/ir/document.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// The whole model; large values are abbreviated. Names are escaped, so that the text of an
// untrusted model is safe to display.
//   y: tensor(float)[N, 4] = Gemm-13(x, w) {alpha = 0.5}
std::string print(const ModelDef& model);
// Prints a resolved graph, with inferred types; subgraphs follow their node.
std::string print(const Graph& graph);

}  // namespace ondine::graph
