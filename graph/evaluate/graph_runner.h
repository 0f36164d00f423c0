// GraphRunner: runs a graph node by node and binds each node when its inputs are available. Used
// for subgraphs of control flow, shapes that depend on data and constants; the reference
// implementation for tests of the planned executor.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <ondine/value.h>

#include "graph/evaluate/call_state.h"
#include "graph/evaluate/node_runner.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// Reuses bound kernels between runs while shapes stay the same. Not thread-safe.
class GraphRunner {
 public:
  // The graph must outlive the runner.
  explicit GraphRunner(const Graph& graph);

  // `inputs`: one value per graph input, Kind::none where the input has a constant. The outputs own
  // their memory, except inputs passed through that do not.
  std::vector<Value> run(CallState& call, std::span<const Value> inputs, std::uint32_t salt = 0);

 private:
  const Graph* graph_;
  std::vector<NodeRunner> nodes_;
  std::vector<int> readers_;  // per value: inputs of nodes, plus 1 for a graph output
};

// Runs the graph once on the calling thread.
std::vector<Value> evaluate(const Graph& graph, std::span<const Value> inputs,
                            const Limits& limits = {});

}  // namespace ondine::graph
