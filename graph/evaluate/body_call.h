// A subgraph run by a GraphRunner.
#pragma once

#include "graph/contract/kernel.h"
#include "graph/evaluate/call_state.h"

namespace ondine::graph {

class GraphRunner;

class BodyCall final : public BodyRunner {
 public:
  // `first_capture`: index of the subgraph's first capture in Node::all_inputs().
  BodyCall(const Body& body, std::size_t first_capture);
  ~BodyCall() override;

  // Before each run of the node.
  void set_call(CallState& call, std::uint32_t salt) noexcept {
    call_ = &call;
    salt_ = salt;
  }
  std::vector<Value> run(KernelContext& context, std::span<const Value> inputs,
                         std::uint64_t iteration) override;

 private:
  const Body* body_;
  std::size_t first_capture_;
  std::unique_ptr<GraphRunner> runner_;
  CallState* call_ = nullptr;
  std::uint32_t salt_ = 0;
};

}  // namespace ondine::graph
