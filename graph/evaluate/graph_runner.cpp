#include "graph/evaluate/graph_runner.h"

#include "core/message.h"

namespace ondine::graph {

GraphRunner::GraphRunner(const Graph& graph) : graph_(&graph), readers_(graph.values.size(), 0) {
  for (const Node& node : graph.nodes) {
    nodes_.emplace_back(node, graph);
    for (const ValueId id : node.all_inputs()) {
      if (id != no_value) ++readers_[static_cast<std::size_t>(id)];
    }
  }
  for (const ValueId id : graph.outputs) ++readers_[static_cast<std::size_t>(id)];
}

std::vector<Value> GraphRunner::run(CallState& call, std::span<const Value> inputs,
                                    std::uint32_t salt) {
  if (inputs.size() != graph_->inputs.size()) {
    fail(ErrorCode::internal, "graph has ", graph_->inputs.size(), " inputs, got ", inputs.size());
  }
  std::vector<Value> values(graph_->values.size());
  const auto at = [&](ValueId id) -> Value& { return values[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (graph_->values[i].constant->defined()) values[i] = *graph_->values[i].constant;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind() != Value::Kind::none) at(graph_->inputs[i]) = inputs[i];
  }
  std::vector<int> left = readers_;
  std::vector<Value> arguments;
  std::vector<Value> results;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = graph_->nodes[i];
    call.check();
    arguments.clear();
    for (const ValueId id : node.all_inputs()) {
      arguments.push_back(id == no_value ? Value() : at(id));
      if (id != no_value && --left[static_cast<std::size_t>(id)] == 0) at(id) = Value();
    }
    results.assign(node.outputs.size(), Value());
    nodes_[i].run(call, arguments, results, salt);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (id != no_value && left[static_cast<std::size_t>(id)] > 0) at(id) = std::move(results[k]);
    }
  }
  std::vector<Value> outputs;
  for (const ValueId id : graph_->outputs) outputs.push_back(at(id));
  return outputs;
}

std::vector<Value> evaluate(const Graph& graph, std::span<const Value> inputs,
                            const Limits& limits) {
  ThreadPool pool(1);
  CallState call;
  call.pool = &pool;
  call.limits = limits;
  call.budget = std::make_shared<MemoryBudget>(limits.arena_bytes);
  return GraphRunner(graph).run(call, inputs);
}

}  // namespace ondine::graph
