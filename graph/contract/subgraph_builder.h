// Construction of the subgraphs of control-flow nodes.
#pragma once

#include <string>
#include <vector>

#include "graph/contract/builder.h"

namespace ondine::graph {

class SubgraphBuilder {
 public:
  // Starts an empty subgraph.
  explicit SubgraphBuilder(Builder& outer);
  // Starts from a copy of a node's subgraph: formal inputs, captures, nodes and outputs().
  SubgraphBuilder(Builder& outer, const Subgraph& subgraph);

  Builder& builder() noexcept { return inner_; }
  Val add_formal(const std::string& hint, Type type);
  Val formal(std::size_t i) { return inner_.value(formals_[i]); }
  std::size_t formal_count() const noexcept { return formals_.size(); }
  // Turns formal input i into an inner value that the caller has to define.
  ValueId release_formal(std::size_t i);
  // Turns an inner value into the next formal input.
  void adopt_formal(ValueId id) { formals_.push_back(id); }
  // Removes and returns all nodes, for appending them after others.
  std::vector<Node> take_nodes();
  // The inner value that stands for an outer one, captured if it was not yet.
  Val capture(Val outer);
  std::vector<Val> outputs();

  // The finished subgraph; `attribute` is the name of its attribute, such as "then_branch".
  Subgraph finish(const std::string& attribute, std::span<const Val> outputs);

 private:
  Builder* outer_;
  Graph graph_;
  Builder inner_;
  std::vector<ValueId> formals_;
  std::vector<ValueId> captures_;  // outer values
  std::vector<ValueId> captured_;  // their inner values, in the same order
};

// Appends a node with subgraphs and returns its outputs.
std::vector<Val> control_node(Builder& builder, std::string_view op, std::span<const Val> inputs,
                              std::vector<Subgraph> subgraphs, std::size_t outputs,
                              Attributes attributes = {});

}  // namespace ondine::graph
