// The operators of quantized networks that take elements as they are, one by one.
#include <algorithm>
#include <cmath>

#include "graph/passes/quantization.h"

namespace ondine::graph {
namespace {

// Operators that move elements or compare them. Version 12 of MaxPool takes integers.
const Node* mover_before(ValueId id, const Uses& uses) {
  for (const char* op : {"MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze"}) {
    const Node* node = uses.producer_for(id, 1, op);
    if (node == nullptr || node->outputs.size() != 1) continue;
    return node->op->name != "MaxPool" || node->version >= 12 ? node : nullptr;
  }
  return nullptr;
}

// A sum or product before a QuantizeLinear node.
struct Pair {
  const Node* node = nullptr;
  const char* activation = nullptr;
};

Pair pair_before(ValueId id, const Graph& graph, const Uses& uses) {
  const Activated before = before_activation(id, graph, uses);
  Pair pair{nullptr, before.activation};
  for (const char* op : {"Add", "Mul"}) {
    if (pair.node == nullptr) pair.node = uses.producer_for(before.value, 1, op);
  }
  return pair;
}

// Whether b has the shape of a, or 1 in place of its last dims.
bool is_row_of(const Graph& graph, ValueId a, ValueId b) {
  const Type& whole = graph[a].type;
  const Type& part = graph[b].type;
  if (!whole.ranked() || !part.ranked() || whole.rank() != part.rank()) return false;
  const Dim one(1);
  std::size_t equal = part.rank();
  while (equal > 0 && (*part.dims)[equal - 1].same(one)) --equal;
  return std::equal(whole.dims->begin(), whole.dims->begin() + static_cast<std::ptrdiff_t>(equal),
                    part.dims->begin(), [](Dim p, Dim q) { return p.same(q); });
}

// Table of each element's conversion from one scale to another, as DequantizeLinear and
// QuantizeLinear compute it.
Tensor conversion(const Quantization& from, const Quantization& to) {
  Tensor table(to.dtype, {256});
  auto* const bytes = static_cast<std::uint8_t*>(table.mutable_data());
  const auto zero = static_cast<float>(zero_point_number(to));
  const float lowest = (to.dtype == DType::int8 ? -128.0F : 0.0F) - zero;
  const float highest = (to.dtype == DType::int8 ? 127.0F : 255.0F) - zero;
  for (int i = 0; i < 256; ++i) {
    const int element = from.dtype == DType::int8 && i > 127 ? i - 256 : i;
    const float x =
        static_cast<float>(element - zero_point_number(from)) * from.scales.values<float>()[0];
    const float y = std::clamp(x / to.scales.values<float>()[0], lowest, highest);
    bytes[i] = static_cast<std::uint8_t>(static_cast<int>(std::nearbyint(y) + zero));
  }
  return table;
}

}  // namespace

bool move_quantized(Node& node, Graph& graph, const Uses& uses) {
  const auto y = quantized(node, graph, uses);
  const Node* mover = y ? mover_before(y->input, uses) : nullptr;
  const auto x = mover != nullptr ? dequantized(mover->inputs[0], graph, uses) : std::nullopt;
  if (!x || !same_parameters(*x, *y)) return false;
  const ValueId result = node.outputs[0];
  const std::string name = node.name;
  node = *mover;
  node.name = name;
  node.inputs[0] = x->input;
  node.outputs = {result};
  return true;
}

bool fuse_pair(Node& node, Graph& graph, const Uses& uses, const Catalogue& catalogue) {
  const auto y = quantized(node, graph, uses);
  if (!is_scalar_int8(y)) return false;
  const Pair pair = pair_before(y->input, graph, uses);
  if (pair.node == nullptr || pair.node->version < 7) return false;
  auto a = dequantized(pair.node->inputs[0], graph, uses);
  auto b = dequantized(pair.node->inputs[1], graph, uses);
  if (!is_scalar_int8(a) || !is_scalar_int8(b)) return false;
  if (!is_row_of(graph, a->input, b->input)) std::swap(a, b);
  if (!is_row_of(graph, a->input, b->input)) return false;
  node.op = catalogue.find(ondine_domain, pair.node->op->name == "Add" ? "Int8Add" : "Int8Mul");
  node.version = 1;
  node.inputs = {a->input, a->scale,      a->zero_point, b->input,
                 b->scale, b->zero_point, y->scale,      zero_point_of(*y, graph)};
  node.attributes.clear();
  if (pair.activation != nullptr) {
    node.attributes.emplace_back("activation", std::string(pair.activation));
  }
  return true;
}

bool join_quantized(Node& node, Graph& graph, const Uses& uses, const Catalogue& catalogue,
                    std::vector<Node>& before) {
  const auto y = quantized(node, graph, uses);
  const Node* const concat = is_scalar_int8(y) ? uses.producer_for(y->input, 1, "Concat") : nullptr;
  if (concat == nullptr || concat->version < 4) return false;
  std::vector<Quantization> inputs;
  for (const ValueId id : concat->inputs) {
    const auto x = dequantized(id, graph, uses);
    if (!is_scalar_int8(x)) return false;
    inputs.push_back(*x);
  }
  std::vector<ValueId> elements;
  for (const Quantization& x : inputs) {
    elements.push_back(x.input);
    if (same_parameters(x, *y)) continue;
    Type type = graph[x.input].type;
    type.dtype = y->dtype;
    const ValueId table = add_constant(graph, "lookup", conversion(x, *y));
    elements.back() = graph.add_temporary("requantized", std::move(type));
    Node lookup;
    lookup.op = catalogue.find(ondine_domain, "Int8Lookup");
    lookup.version = 1;
    lookup.inputs = {x.input, table};
    lookup.outputs = {elements.back()};
    before.push_back(std::move(lookup));
  }
  const ValueId result = node.outputs[0];
  const std::string name = node.name;
  node = *concat;
  node.name = name;
  node.inputs = std::move(elements);
  node.outputs = {result};
  return true;
}

}  // namespace ondine::graph
