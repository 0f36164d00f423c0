// w - g * rate becomes SgdUpdate(w, g, rate); SgdUpdate(w, op(a) op(b), rate), with op the identity
// or a transposition, becomes GemmSgdUpdate(w, a, b, rate), and that of the gradient of a head by
// its loss ProjectedSgdUpdate.
#include "graph/passes/fuse.h"

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

bool is_sgd_update(const Node& node) {
  return node.op->name == "SgdUpdate" && node.op->domain == ondine_domain;
}

bool to_product(Node& node, const Graph& graph, const OpDef* op, const Uses& uses) {
  if (op == nullptr || !is_sgd_update(node)) return false;
  const Node* product = uses.sole_producer(node.inputs[1], "Gemm");
  if (product == nullptr) return false;
  const NodeView view(*product);
  if (view.has_input(2) || view.attr_float("alpha", 1) != 1) return false;
  if (!graph[node.inputs[0]].type.shape()) return false;
  node.inputs = {node.inputs[0], product->inputs[0], product->inputs[1], node.inputs[2]};
  node.op = op;
  node.attributes = {{"transA", view.attr_int("transA", 0)},
                     {"transB", view.attr_int("transB", 0)}};
  return true;
}

bool to_head(Node& node, const Graph&, const OpDef* op, const Uses& uses) {
  if (op == nullptr || !is_sgd_update(node)) return false;
  const Node* head = uses.sole_producer(node.inputs[1], "ProjectedWeightGrad", ondine_domain);
  if (head == nullptr || head->inputs[2] != node.inputs[0]) return false;
  node.inputs = {node.inputs[0],  head->inputs[0], head->inputs[1],
                 head->inputs[3], head->inputs[4], node.inputs[2]};
  node.op = op;
  node.attributes = head->attributes;
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
  if (context.catalogue == nullptr) return false;
  const OpDef* const op = context.catalogue->find(ondine_domain, "SgdUpdate");
  return fuse_nodes(
      graph, [&](Node& node, const Uses& uses) { return to_sgd_update(node, graph, op, uses); });
}

bool run_gemm_sgd_update(Graph& graph, const PassContext& context) {
  const bool products = run(graph, context, "GemmSgdUpdate", to_product);
  return run(graph, context, "ProjectedSgdUpdate", to_head) || products;
}

}  // namespace

const Pass fuse_sgd_update{"fuse_sgd_update", run_sgd_update};
const Pass fuse_gemm_sgd_update{"fuse_gemm_sgd_update", run_gemm_sgd_update};

}  // namespace ondine::graph
