// NodeRunner: infers, binds and runs one node on actual values.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <ondine/value.h>

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "graph/evaluate/call_state.h"

namespace ondine::graph {

// Reuses the bound kernel while the types of inputs, and the elements that inference or binding
// read, stay the same.
class NodeRunner {
 public:
  NodeRunner(const Node& node, const Graph& graph);
  ~NodeRunner();
  NodeRunner(NodeRunner&&) noexcept;

  // `inputs` are the values of Node::all_inputs(), Kind::none where omitted. Sets `outputs`, one
  // per output of the node. Errors name the node.
  void run(CallState& call, std::span<const Value> inputs, std::span<Value> outputs,
           std::uint32_t salt);

 private:
  struct Bound;
  void bind(CallState& call, std::span<const Value> inputs);
  bool still_fits(std::span<const Value> inputs) const;

  const Node* node_;
  const Graph* graph_;
  std::unique_ptr<Bound> bound_;
};

// The type of an actual value.
Type type_of(const Value& value);

}  // namespace ondine::graph
