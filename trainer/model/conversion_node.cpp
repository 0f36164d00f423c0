#include "trainer/model/conversion_node.h"

#include "graph/contract/catalogue.h"
#include "kernels/catalogue.h"

namespace ondine::trainer {

std::optional<graph::Node> conversion_node(graph::ValueId x, graph::ValueId y, DType dtype) {
  static const graph::OpDef* const cast = kernels::catalogue().find("", "Cast");
  if (cast == nullptr) return std::nullopt;
  graph::Node node;
  node.op = cast;
  node.version = 13;
  node.inputs = {x};
  node.outputs = {y};
  node.attributes.emplace_back("to", static_cast<std::int64_t>(dtype));
  return node;
}

}  // namespace ondine::trainer
