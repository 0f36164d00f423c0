// w - g * rate becomes SgdUpdate(w, g, rate); SgdUpdate(w, op(a) op(b), rate), with op the identity
// or a transposition, becomes GemmUpdate, and that of the gradient of a head by its loss
// ProjectedUpdate.
#include "graph/passes/fuse/update_by_gradient.h"

namespace ondine::graph {
namespace {

bool is_one_number(const Graph& graph, ValueId id) {
  const auto shape = graph[id].type.shape();
  return shape && shape->rank() == 0;
}

bool to_sgd_update(Node& node, const Graph& graph, const OpDef* op, const Uses& uses) {
  if (op == nullptr || node.op->name != "Sub" || !node.op->domain.empty()) return false;
  if (!is_full_float(graph, node.outputs[0])) return false;
  const Node* change = uses.sole_producer(node.inputs[1], "Mul");
  if (change == nullptr) return false;
  for (const std::size_t rate : {std::size_t{1}, std::size_t{0}}) {
    const ValueId g = change->inputs[1 - rate];
    if (!is_one_number(graph, change->inputs[rate])) continue;
    if (!same_tensor_type(graph, node.inputs[0], g)) continue;
    node.inputs = {node.inputs[0], g, change->inputs[rate]};
    node.op = op;
    node.version = 1;
    node.attributes.clear();
    return true;
  }
  return false;
}

bool run_sgd_update(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* const op = context.catalogue->find(ondine_domain, "SgdUpdate");
  return fuse_nodes(
      graph, [&](Node& node, const Uses& uses) { return to_sgd_update(node, graph, op, uses); });
}

bool run_gemm_sgd_update(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const UpdateFuser fuser(*context.catalogue);
  return fuse_nodes(graph, [&](Node& node, const Uses& uses) {
    if (node.op->name != "SgdUpdate" || node.op->domain != ondine_domain) return false;
    auto by = fuser.gradient_of(node.inputs[1], node.inputs[0], nullptr, uses);
    if (!by || !graph[node.inputs[0]].type.shape()) return false;
    fuser.fuse(node, 1, 0, std::move(*by));
    return true;
  });
}

}  // namespace

const Pass fuse_sgd_update{"fuse_sgd_update", run_sgd_update};
const Pass fuse_gemm_sgd_update{"fuse_gemm_sgd_update", run_gemm_sgd_update};

}  // namespace ondine::graph
