// The implementation of resolve(); one object per top-level graph.
#pragma once

#include <string_view>
#include <unordered_set>

#include "graph/resolve/resolve.h"
#include "graph/resolve/scope.h"

namespace ondine::graph {

class Resolver {
 public:
  explicit Resolver(const ResolveContext& context)
      : context_(&context), opsets_(context.model->opsets) {}

  Graph resolve(GraphParts parts);

 private:
  using NameSet = std::unordered_set<std::string_view>;

  void declare_types(NameScope& scope, GraphParts parts);
  void declare_input(NameScope& scope, const ValueDef& input);
  // `inputs`: those of the graph.
  void add_initializers(NameScope& scope, GraphParts parts, const NameSet& inputs);
  void add_initializer(NameScope& scope, const NameSet& inputs, const std::string& name,
                       const Tensor& value);
  // False after an error, when later nodes mostly depend on what is missing.
  bool add_nodes(NameScope& scope, const std::vector<NodeDef>& nodes);
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
