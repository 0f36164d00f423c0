// Runs a graph node by node, each bound when its inputs are there: for subgraphs of control flow,
// shapes that depend on data, constants, and as the reference that the planned executor is held to.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <ondine/value.h>

#include "graph/evaluate/call_state.h"
#include "graph/evaluate/node_runner.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// Keeps bound kernels between runs while the shapes stay the same. One run at a time.
class GraphRunner {
 public:
  // The graph must outlive the runner.
  explicit GraphRunner(const Graph& graph);

  // One value for each input of the graph (none where it has a constant); returns its outputs,
  // which own their memory unless they are an input that does not.
  std::vector<Value> run(CallState& call, std::span<const Value> inputs, std::uint32_t salt = 0);

 private:
  const Graph* graph_;
  std::vector<NodeRunner> nodes_;
  std::vector<int> readers_;  // of each value; outputs count once
};

// One run with a throw-away runner on the calling thread.
std::vector<Value> evaluate(const Graph& graph, std::span<const Value> inputs,
                            const Limits& limits = {});

}  // namespace ondine::graph
