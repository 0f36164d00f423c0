// w - g * rate becomes SgdUpdate(w, g, rate); SgdUpdate(w, op(a) op(b), rate), with op the identity
// or a transposition, becomes GemmUpdate.
#include "graph/passes/fuse.h"
#include "graph/passes/fuse/product_update.h"

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

bool to_product(Node& node, const Graph& graph, const OpDef* op, const Uses& uses) {
  if (op == nullptr || node.op->name != "SgdUpdate" || node.op->domain != ondine_domain)
    return false;
  const Node* product = uses.sole_producer(node.inputs[1], "Gemm");
  if (product == nullptr) return false;
  if (!is_sole_product(*product) || !graph[node.inputs[0]].type.shape()) return false;
  update_by_product(node, *op, 1, 0, *product);
  return true;
}

using Rewrite = bool (*)(Node&, const Graph&, const OpDef*, const Uses&);

bool run(Graph& graph, const PassContext& context, const char* op, Rewrite rewrite) {
  if (context.catalogue == nullptr) return false;
  const OpDef* fused = context.catalogue->find(ondine_domain, op);
  return fuse_nodes(
      graph, [&](Node& node, const Uses& uses) { return rewrite(node, graph, fused, uses); });
}

bool run_sgd_update(Graph& graph, const PassContext& context) {
  return run(graph, context, "SgdUpdate", to_sgd_update);
}

bool run_gemm_sgd_update(Graph& graph, const PassContext& context) {
  return run(graph, context, "GemmUpdate", to_product);
}

}  // namespace

const Pass fuse_sgd_update{"fuse_sgd_update", run_sgd_update};
const Pass fuse_gemm_sgd_update{"fuse_gemm_sgd_update", run_gemm_sgd_update};

}  // namespace ondine::graph
