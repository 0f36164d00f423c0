// Lets products read large matrices as they are stored and write them as they are wanted: MatMul,
// MatMulT and Gemm of a transposed matrix take the matrix itself and a flag, and a transposed Gemm
// is that of its factors in reverse. Folding would keep a transposed copy of a constant, and every
// step would make one of a weight or of its gradient.
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

// Smaller constants are transposed once, and other small matrices fast.
constexpr std::size_t least_bytes = std::size_t{256} << 10;

bool is_large_matrix(const Graph& graph, ValueId id) {
  const Type& type = graph[id].type;
  if (!type.ranked() || type.rank() != 2) return false;
  const auto shape = to_shape(*type.dims);
  return shape && static_cast<std::size_t>(shape->size()) * size_of(type.dtype) >= least_bytes;
}

bool is_matrix(const Graph& graph, ValueId id) {
  return graph[id].type.ranked() && graph[id].type.rank() >= 2;
}

void flip(Attributes& attributes, const char* name) {
  for (Attribute& attribute : attributes) {
    if (attribute.name != name) continue;
    const auto* value = std::get_if<std::int64_t>(&attribute.data);
    attribute = Attribute(name, std::int64_t{value == nullptr || *value == 0 ? 1 : 0});
    return;
  }
  attributes.emplace_back(name, std::int64_t{1});
}

class Absorber {
 public:
  Absorber(const Graph& graph, const Uses& uses, const OpDef* transposing)
      : graph_(graph), uses_(uses), transposing_(transposing), reads_(graph.values.size()) {
    for (const Node& node : graph.nodes) {
      if (!is_product(node)) continue;
      for (const std::size_t side : {0, 1}) ++reads_[static_cast<std::size_t>(node.inputs[side])];
    }
  }

  bool absorb(Node& node) const {
    return is_product(node) ? absorb_factors(node) : absorb_product(node);
  }

 private:
  bool is_product(const Node& node) const {
    if (node.op == transposing_) return true;
    if (!node.op->domain.empty()) return false;
    return node.op->name == "Gemm" ||
           (node.op->name == "MatMul" && is_matrix(graph_, node.inputs[0]) &&
            is_matrix(graph_, node.inputs[1]));
  }

  // What `id` is the transposition of; no_value if it is none, or one that is worth its memory.
  ValueId source(ValueId id) const {
    const Node* transpose = uses_.producer(id, "Transpose");
    if (transpose == nullptr) return no_value;
    const ValueId from = transpose->inputs[0];
    const Tensor& constant = graph_[from].constant;
    const bool is_read_by_products_alone =
        reads_[static_cast<std::size_t>(id)] == uses_.readers(id);
    const bool large = constant.defined()
                           ? constant.bytes() >= least_bytes
                           : is_read_by_products_alone && is_large_matrix(graph_, from);
    if (!large) return no_value;
    const std::size_t rank = constant.defined() ? constant.shape().rank() : 2;
    return swaps_last_two(NodeView(*transpose), rank) ? from : no_value;
  }

  bool absorb_factors(Node& node) const {
    bool changed = false;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const ValueId from = source(node.inputs[side]);
      if (from == no_value) continue;
      node.inputs[side] = from;
      flip(node.attributes, side == 0 ? "transA" : "transB");
      changed = true;
    }
    if (changed && node.op->name == "MatMul") {
      node.op = transposing_;
      node.version = 1;
    }
    return changed;
  }

  // A Transpose of a Gemm that nothing else reads.
  bool absorb_product(Node& node) const {
    if (!node.op->domain.empty() || node.op->name != "Transpose") return false;
    const Node* gemm = uses_.producer_for(node.inputs[0], 1, "Gemm");
    if (gemm == nullptr || NodeView(*gemm).has_input(2) || gemm->version < 7) return false;
    if (!is_large_matrix(graph_, node.inputs[0]) || !swaps_last_two(NodeView(node), 2)) {
      return false;
    }
    const NodeView view(*gemm);
    const auto flag = [&](const char* name) {
      return std::int64_t{view.attr_int(name, 0) == 0 ? 1 : 0};
    };
    Attributes attributes{{"transA", flag("transB")}, {"transB", flag("transA")}};
    if (view.has_attr("alpha")) attributes.emplace_back("alpha", view.attr_float("alpha", 1));
    node.inputs = {gemm->inputs[1], gemm->inputs[0]};
    node.attributes = std::move(attributes);
    node.version = gemm->version;
    node.op = gemm->op;
    return true;
  }

  const Graph& graph_;
  const Uses& uses_;
  const OpDef* transposing_;
  std::vector<int> reads_;  // of each value, by products
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* transposing = context.catalogue->find(ondine_domain, "MatMulT");
  if (transposing == nullptr) return false;
  const Uses uses(graph);
  const Absorber absorber(graph, uses, transposing);
  bool changed = false;
  for (Node& node : graph.nodes) {
    changed = absorber.absorb(node) || changed;
  }
  return changed;
}

}  // namespace

const Pass absorb_transposes{"absorb_transposes", run};

}  // namespace ondine::graph
