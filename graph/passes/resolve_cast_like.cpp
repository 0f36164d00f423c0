// CastLike becomes Cast to the dtype of its second input, whose elements it does not read: numbers
// that PyTorch's exporter casts to the dtype of a size are constants then.
#include "graph/contract/catalogue.h"
#include "graph/passes/pass.h"

namespace ondine::graph {
namespace {

bool run(Graph& graph, const PassContext& context) {
  const OpDef* const cast =
      context.catalogue != nullptr ? context.catalogue->find("", "Cast") : nullptr;
  if (cast == nullptr) return false;
  bool changed = false;
  for (Node& node : graph.nodes) {
    if (!node.op->domain.empty() || node.op->name != "CastLike") continue;
    const DType dtype = graph[node.outputs[0]].type.dtype;
    if (dtype == DType::undefined) continue;
    node.op = cast;
    node.inputs.resize(1);
    node.attributes.emplace_back("to", static_cast<std::int64_t>(dtype));
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass resolve_cast_like{"resolve_cast_like", run};

}  // namespace ondine::graph
