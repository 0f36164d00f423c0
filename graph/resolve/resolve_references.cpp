// The tensors that a Gradient names in its attributes.
#include "core/message.h"
#include "graph/contract/op_def.h"
#include "graph/ir/attribute_value.h"
#include "graph/resolve/resolver.h"

namespace ondine::graph {

// Gradient refers to tensors of its graph by attributes.
void Resolver::resolve_references(NameScope& scope, Node& node) {
  if (node.op->name != "Gradient") return;
  for (const char* attribute : {"xs", "zs"}) {
    const Attribute* names = ondine::graph::find(node.attributes, attribute);
    if (names == nullptr) continue;
    for (const auto& name : value_of<std::vector<std::string>>(*names, node.op->name)) {
      node.references.push_back(scope.get(name));
    }
  }
  const Attribute* y = ondine::graph::find(node.attributes, "y");
  if (y == nullptr) fail(ErrorCode::invalid_model, "attribute 'y' is missing");
  node.references.push_back(scope.get(value_of<std::string>(*y, node.op->name)));
}

}  // namespace ondine::graph
