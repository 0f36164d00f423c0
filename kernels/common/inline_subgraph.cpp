#include "kernels/common/inline_subgraph.h"

#include <unordered_map>

namespace ondine::kernels {

using namespace graph;  // NOLINT

std::vector<Val> inline_subgraph(Builder& builder, const Subgraph& body,
                                 std::span<const Val> formals) {
  const Graph& inner = *body.graph;
  if (formals.size() != body.formal_inputs()) {
    fail(ErrorCode::mismatch, "graph ", quoted(body.attribute), " has ", body.formal_inputs(),
         " inputs, needed: ", formals.size());
  }
  std::unordered_map<ValueId, ValueId> outer{{no_value, no_value}};
  for (std::size_t i = 0; i < inner.inputs.size(); ++i) {
    outer[inner.inputs[i]] =
        i < formals.size() ? formals[i].id() : body.captures[i - formals.size()];
  }
  const auto seen = [&](ValueId id) {
    const auto found = outer.find(id);
    if (found != outer.end()) return found->second;
    if (!inner[id].constant->defined()) {
      fail(ErrorCode::internal, "value ", quoted(inner[id].name), " has no producer");
    }
    return outer[id] = builder.constant(inner[id].constant, inner[id].name).id();
  };
  for (Node node : inner.nodes) {
    for (ValueId& id : node.inputs) id = seen(id);
    for (Subgraph& nested : node.subgraphs) {
      for (ValueId& id : nested.captures) id = seen(id);
    }
    for (ValueId& id : node.outputs) {
      if (id == no_value) continue;
      const ValueId fresh = builder.graph().add_temporary(inner[id].name);
      outer[id] = fresh;
      id = fresh;
    }
    builder.append(std::move(node));
  }
  std::vector<Val> outputs;
  for (const ValueId id : inner.outputs) outputs.push_back(builder.value(seen(id)));
  return outputs;
}

}  // namespace ondine::kernels
