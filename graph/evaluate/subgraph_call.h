// SubgraphCall: runs the subgraph of a node with a GraphRunner.
#pragma once

#include "graph/contract/kernel.h"
#include "graph/evaluate/call_state.h"

namespace ondine::graph {

class GraphRunner;

class SubgraphCall final : public SubgraphRunner {
 public:
  // `first_capture`: index of the subgraph's first capture in Node::all_inputs().
  SubgraphCall(const Subgraph& subgraph, std::size_t first_capture);
  ~SubgraphCall() override;

  // To be called before each run of the node.
  void set_call(CallState& call, std::uint32_t salt) noexcept {
    call_ = &call;
    salt_ = salt;
  }
  std::vector<Value> run(KernelContext& context, std::span<const Value> inputs,
                         std::uint64_t iteration) override;

 private:
  const Subgraph* subgraph_;
  std::size_t first_capture_;
  std::unique_ptr<GraphRunner> runner_;
  CallState* call_ = nullptr;
  std::uint32_t salt_ = 0;
};

}  // namespace ondine::graph
