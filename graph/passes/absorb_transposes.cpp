// Lets products read large constants as they are stored: MatMul, MatMulT and Gemm of a transposed
// constant take the constant itself and a flag. Folding would keep a transposed copy.
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

// Smaller constants are transposed once.
constexpr std::size_t least_bytes = std::size_t{256} << 10;

// The constant that `id` is the transposition of; no_value if it is not, or not worth it.
ValueId transposed_constant(const Graph& graph, const Uses& uses, ValueId id) {
  const Node* transpose = uses.producer(id, "Transpose");
  if (transpose == nullptr) return no_value;
  const Tensor& constant = graph[transpose->inputs[0]].constant;
  if (!constant.defined() || constant.bytes() < least_bytes) return no_value;
  const bool swapped = swaps_last_two(NodeView(*transpose), constant.shape().rank());
  return swapped ? transpose->inputs[0] : no_value;
}

bool is_matrix(const Graph& graph, ValueId id) {
  return graph[id].type.ranked() && graph[id].type.rank() >= 2;
}

void flip(Attributes& attributes, const char* name) {
  for (Attribute& attribute : attributes) {
    if (attribute.name != name) continue;
    auto& value = std::get<std::int64_t>(attribute.data);
    value = value == 0 ? 1 : 0;
    return;
  }
  attributes.emplace_back(name, std::int64_t{1});
}

bool absorb(Node& node, const Graph& graph, const Uses& uses, const OpDef* transposing) {
  const bool plain = node.op->domain.empty() && node.op->name == "MatMul";
  const bool flagged =
      node.op == transposing || (node.op->domain.empty() && node.op->name == "Gemm");
  if (!flagged && !(plain && is_matrix(graph, node.inputs[0]) && is_matrix(graph, node.inputs[1])))
    return false;
  bool changed = false;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const ValueId constant = transposed_constant(graph, uses, node.inputs[side]);
    if (constant == no_value) continue;
    node.inputs[side] = constant;
    flip(node.attributes, side == 0 ? "transA" : "transB");
    changed = true;
  }
  if (changed && plain) {
    node.op = transposing;
    node.version = 1;
  }
  return changed;
}

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* transposing = context.catalogue->find(ondine_domain, "MatMulT");
  if (transposing == nullptr) return false;
  return fuse_nodes(graph, absorb_transposes, context, [&](Node& node, const Uses& uses) {
    return absorb(node, graph, uses, transposing);
  });
}

}  // namespace

const Pass absorb_transposes{"absorb_transposes", run};

}  // namespace ondine::graph
