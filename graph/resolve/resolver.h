// The implementation of resolve(); one object per top-level graph.
#pragma once

#include "graph/resolve/resolve.h"
#include "graph/resolve/scope.h"

namespace ondine::graph {

class Resolver {
 public:
  explicit Resolver(const ResolveContext& context)
      : context_(&context), opsets_(context.model->opsets) {}

  Graph resolve(const GraphDef& def);

 private:
  void declare_types(NameScope& scope, const GraphDef& def);
  void add_initializers(NameScope& scope, const GraphDef& def, bool top);
  void add_nodes(NameScope& scope, const std::vector<NodeDef>& nodes);
  void add_node(NameScope& scope, const NodeDef& def);
  void inline_call(NameScope& scope, const NodeDef& def, const FunctionDef& function);
  const FunctionDef* find_function(const NodeDef& def) const;
  void bind_outputs(NameScope& scope, const NodeDef& def, Node& node);
  void declare(NameScope& scope, const std::string& name, ValueId id);
  void compare(NameScope& scope, const std::string& name, ValueId id);
  void resolve_references(NameScope& scope, Node& node);
  std::vector<Type> resolve_subgraph(NameScope& scope, Node& node, std::size_t index,
                                     const GraphDef& def, std::span<const Type> formals);
  void set_outputs(NameScope& scope, const GraphDef& def);
  void fold_if_constant(Graph& graph);
  void report(const Error& error);

  const ResolveContext* context_;
  Opsets opsets_;  // of the model
  std::size_t nodes_ = 0;
  int depth_ = 0;
};

}  // namespace ondine::graph
