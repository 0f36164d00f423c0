// Stage 6: the passes that run once on a resolved graph.
#pragma once

#include <ondine/limits.h>

#include "graph/ir/graph.h"

namespace ondine::trainer {

void optimize(graph::Graph& graph, const Limits& limits);

}  // namespace ondine::trainer
