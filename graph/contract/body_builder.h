// Writing the graph that a control-flow node holds.
#pragma once

#include <string>
#include <vector>

#include "graph/contract/builder.h"

namespace ondine::graph {

class BodyBuilder {
 public:
  // An empty body.
  explicit BodyBuilder(Builder& outer);
  // A copy of a node's body: its formal inputs, captures and nodes; outputs() are its outputs.
  BodyBuilder(Builder& outer, const Body& body);

  Builder& builder() noexcept { return inner_; }
  Val add_formal(const std::string& hint, Type type);
  Val formal(std::size_t i) { return inner_.value(formals_[i]); }
  std::size_t formal_count() const noexcept { return formals_.size(); }
  // Makes input i, a formal one until now, an inner value that the caller defines.
  ValueId release_formal(std::size_t i);
  // Makes an inner value the next formal input.
  void adopt_formal(ValueId id) { formals_.push_back(id); }
  // Takes the nodes out, to be appended again behind others.
  std::vector<Node> take_nodes();
  // The outer value as seen inside.
  Val capture(Val outer);
  std::vector<Val> outputs();

  // `attribute` as in "then_branch".
  Body finish(const std::string& attribute, std::span<const Val> outputs);

 private:
  Builder* outer_;
  Graph graph_;
  Builder inner_;
  std::vector<ValueId> formals_;
  std::vector<ValueId> captures_;  // outer
  std::vector<ValueId> captured_;  // inner, one for each capture
};

// Appends a node with bodies.
std::vector<Val> control_node(Builder& builder, std::string_view op, std::span<const Val> inputs,
                              std::vector<Body> bodies, std::size_t outputs,
                              Attributes attributes = {});

}  // namespace ondine::graph
