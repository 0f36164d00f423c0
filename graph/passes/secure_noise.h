// Noise of training with privacy that comes from a cryptographic generator.
#pragma once

#include <span>
#include <string>

#include "graph/contract/catalogue.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// Makes the nodes that give the values of these names, RandomNormalLike, draw secret numbers:
// SecretNormalLike. Each has a random stream of its own. Names that the graph does not have count
// for nothing.
void draw_secretly(Graph& graph, std::span<const std::string> noise, const Catalogue& catalogue);

}  // namespace ondine::graph
