#include "graph/passes/dequantized.h"

#include <algorithm>

namespace ondine::graph {
namespace {

// Smaller constants are dequantized once.
constexpr std::size_t least_elements = std::size_t{1} << 16;

// A constant matrix and how it becomes float32.
struct Frozen {
  ValueId elements = no_value;
  ValueId scale = no_value;  // no_value: widened
  ValueId zero_point = no_value;
  Attributes granularity;
  bool transposed = false;
};

bool has_few_bits(DType dtype) {
  return dtype == DType::int8 || dtype == DType::uint8 || dtype == DType::int4 ||
         dtype == DType::uint4 || dtype == DType::int2 || dtype == DType::uint2;
}

std::optional<Frozen> read_frozen(ValueId id, const Graph& graph, const Uses& uses) {
  Frozen frozen;
  if (const Node* transpose = uses.producer(id, "Transpose");
      transpose != nullptr && swaps_last_two(NodeView(*transpose), 2)) {
    frozen.transposed = true;
    id = transpose->inputs[0];
  }
  const Node* cast = uses.producer(id, "Cast");
  const Node* node = cast != nullptr ? cast : uses.producer(id, "DequantizeLinear");
  if (node == nullptr || graph[id].type.dtype != DType::float32) return std::nullopt;
  frozen.elements = node->inputs[0];
  const Tensor elements = uses.constant(frozen.elements);
  if (!elements.defined() || elements.shape().rank() != 2 ||
      static_cast<std::size_t>(elements.size()) < least_elements) {
    return std::nullopt;
  }
  const DType dtype = elements.dtype();
  if (cast != nullptr) {
    const bool widens = dtype == DType::float16 || dtype == DType::bfloat16;
    return widens ? std::optional(frozen) : std::nullopt;
  }
  const NodeView view(*node);
  const Tensor scale = uses.constant(node->inputs[1]);
  if (!has_few_bits(dtype) || !scale.defined() || scale.dtype() != DType::float32) {
    return std::nullopt;
  }
  frozen.scale = node->inputs[1];
  if (view.has_input(2)) {
    frozen.zero_point = node->inputs[2];
    if (!uses.constant(frozen.zero_point).defined()) return std::nullopt;
  }
  frozen.granularity = {{"axis", view.attr_int("axis", 1)},
                        {"block_size", view.attr_int("block_size", 0)}};
  return frozen;
}

// Whether value `id` is one number for each of `count` columns.
bool is_row(const Type& type, std::int64_t count) {
  const auto shape = type.shape();
  return type.dtype == DType::float32 && shape && shape->rank() > 0 && shape->size() == count &&
         shape->back() == count;
}

bool fuse_product(Node& node, const Graph& graph, const Uses& uses, const OpDef* fused) {
  const bool standard = node.op->domain.empty();
  const bool gemm = standard && node.op->name == "Gemm";
  const bool matmul = (standard && node.op->name == "MatMul") ||
                      (node.op->domain == ondine_domain && node.op->name == "MatMulT");
  if (!gemm && !matmul) return false;
  const NodeView view(node);
  if (gemm ? !is_plain_gemm(view) : view.attr_int("transA", 0) != 0) return false;
  const Type& a = graph[node.inputs[0]].type;
  if (!a.ranked() || a.rank() < 2) return false;
  const auto b = read_frozen(node.inputs[1], graph, uses);
  if (!b) return false;
  const bool transposed = b->transposed != (view.attr_int("transB", 0) != 0);
  ValueId bias = no_value;
  if (view.has_input(2)) {
    bias = node.inputs[2];
    const Shape shape = uses.constant(b->elements).shape();
    if (!is_row(graph[bias].type, shape[transposed ? 0 : 1])) return false;
  }
  node.op = fused;
  node.version = 1;
  node.inputs = {node.inputs[0], b->elements, b->scale, b->zero_point, bias};
  node.attributes = b->granularity;
  node.attributes.emplace_back("transB", std::int64_t{transposed});
  return true;
}

bool fuse_lookup(Node& node, const Graph& graph, const Uses& uses, const OpDef* fused) {
  if (!node.op->domain.empty() || node.op->name != "Gather") return false;
  if (NodeView(node).attr_int("axis", 0) != 0) return false;
  const auto table = read_frozen(node.inputs[0], graph, uses);
  if (!table || table->transposed) return false;
  node.op = fused;
  node.version = 1;
  node.inputs = {node.inputs[1], table->elements, table->scale, table->zero_point};
  node.attributes = table->granularity;
  return true;
}

}  // namespace

bool fuse_dequantized(Node& node, const Graph& graph, const Uses& uses,
                      const Catalogue& catalogue) {
  const OpDef* product = catalogue.find(ondine_domain, "DequantizeMatMul");
  const OpDef* lookup = catalogue.find(ondine_domain, "DequantizeGather");
  return (product != nullptr && fuse_product(node, graph, uses, product)) ||
         (lookup != nullptr && fuse_lookup(node, graph, uses, lookup));
}

}  // namespace ondine::graph
