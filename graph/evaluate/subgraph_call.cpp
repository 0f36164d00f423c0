#include "graph/evaluate/subgraph_call.h"

#include "graph/evaluate/graph_runner.h"

namespace ondine::graph {

SubgraphCall::SubgraphCall(const Subgraph& subgraph, std::size_t first_capture)
    : subgraph_(&subgraph),
      first_capture_(first_capture),
      runner_(std::make_unique<GraphRunner>(*subgraph.graph)) {}

SubgraphCall::~SubgraphCall() = default;

std::vector<Value> SubgraphCall::run(KernelContext& context, std::span<const Value> inputs,
                                     std::uint64_t iteration) {
  std::vector<Value> all(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < subgraph_->captures.size(); ++i) {
    all.push_back(context.value(first_capture_ + i));
  }
  auto outputs = runner_->run(*call_, all, mix_stream(salt_, iteration));
  for (Value& output : outputs) {
    if (output.is_tensor() && !output.tensor().owns_memory()) {
      output = output.tensor().clone(call_->budget);
    }
  }
  return outputs;
}

}  // namespace ondine::graph
