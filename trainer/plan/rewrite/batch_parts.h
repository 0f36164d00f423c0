// Parts of the batch that run through the widest layers one after the other.
#pragma once

#include <span>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// Where most bytes are alive between nodes that compute every sample of a batch by itself
// (OpTraits::per_sample), and few of them later, runs these nodes for a part of the batch at a
// time: a Slice of what they read, their copies, and a Concat of each result. An example are the
// first layers of a frozen network, whose activations nothing else reads. Which nodes and how many
// parts follows from the graph alone. `outside` marks values that are not in the arena. The graph
// must be typed; it is ordered by this. Returns whether it changed nodes.
bool split_batch(graph::Graph& graph, std::span<const graph::ValueId> outside);

// Whether the node computes each of several samples by itself. Without such nodes split_batch
// changes nothing.
bool computes_batch(const graph::Node& node, const graph::Graph& graph);

}  // namespace ondine::trainer
