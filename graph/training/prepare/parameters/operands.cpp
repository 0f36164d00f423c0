#include "graph/training/prepare/parameters/operands.h"

#include <algorithm>

#include "graph/training/prepare/input_table.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/paths.h"

namespace ondine::graph {
namespace {

// Inputs that are parameters whatever else the node reads.
constexpr InputRow standard[]{{"BatchNormalization", input_bits({1, 2})},
                              {"Conv", input_bits({1, 2})},
                              {"ConvTranspose", input_bits({1, 2})},
                              {"DeformConv", input_bits({1, 3})},
                              {"GRU", input_bits({1, 2, 3})},
                              {"GroupNormalization", input_bits({1, 2})},
                              {"InstanceNormalization", input_bits({1, 2})},
                              {"LSTM", input_bits({1, 2, 3, 7})},
                              {"LayerNormalization", input_bits({1, 2})},
                              {"PRelu", input_bits({1})},
                              {"RMSNormalization", input_bits({1})},
                              {"RNN", input_bits({1, 2, 3})}};

constexpr InputRow contrib[]{{"Attention", input_bits({1, 2})},
                             {"BiasGelu", input_bits({1})},
                             {"EmbedLayerNormalization", input_bits({2, 3, 4, 5, 6})},
                             {"FastGelu", input_bits({1})},
                             {"FusedConv", input_bits({1, 2})},
                             {"GroupNorm", input_bits({1, 2})},
                             {"SimplifiedLayerNormalization", input_bits({1})},
                             {"SkipLayerNormalization", input_bits({2, 3, 4})},
                             {"SkipSimplifiedLayerNormalization", input_bits({2, 3})}};

bool is_contrib(const NodeDef& node) { return node.domain == "com.microsoft"; }

bool is_product(const NodeDef& node) {
  return (node.domain.empty() && makes_products(node.op)) ||
         (is_contrib(node) && one_of(node.op, {"FusedConv", "FusedGemm", "FusedMatMul"}));
}

// Dims above 1.
std::size_t wide_dims(const Shape& shape) {
  return static_cast<std::size_t>(
      std::count_if(shape.begin(), shape.end(), [](auto dim) { return dim > 1; }));
}

}  // namespace

Operands::Operands(const GraphDef& graph) : uses_(graph) { collect(graph); }

void Operands::collect(const GraphDef& graph) {
  for (const InitializerDef& one : graph.initializers) constants_.insert(one.name);
  for (const SparseTensorDef& one : graph.sparse_initializers) constants_.insert(one.name);
  for (const NodeDef& node : graph.nodes) {
    for (const auto& subgraph : subgraphs_of(node)) collect(*subgraph);
    note(node);
  }
}

void Operands::note(const NodeDef& node) {
  const bool moves = only_moves(node) && !node.inputs.empty();
  const auto moved = moves ? products_.find(node.inputs[0]) : products_.end();
  const bool is_plain_product = is_product(node) && has_weight(node);
  bool is_known = subgraphs_of(node).empty();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) is_known = is_known && is_constant(node, i);
  for (const std::string& output : node.outputs) {
    if (output.empty()) continue;
    if (is_known) constants_.insert(output);
    if (is_plain_product) {
      const bool is_last = one_of(node.op, {"FusedGemm", "FusedMatMul", "Gemm", "MatMul"});
      products_.emplace(output, is_last ? Product::last : Product::other);
    } else if (moved != products_.end()) {
      products_.emplace(
          output, node.op == "Cast" || node.op == "Identity" ? moved->second : Product::other);
    }
  }
}

bool Operands::is_constant(const NodeDef& node, std::size_t input) const {
  return node.inputs[input].empty() || constants_.contains(node.inputs[input]);
}

// A product of constants, or of data alone, is no layer.
bool Operands::has_weight(const NodeDef& node) const {
  const std::size_t factors = node.op == "Einsum" ? node.inputs.size() : 2;
  std::size_t constant = 0;
  for (std::size_t i = 0; i < std::min(factors, node.inputs.size()); ++i) {
    if (is_constant(node, i)) ++constant;
  }
  return constant > 0 && constant < std::min(factors, node.inputs.size());
}

bool Operands::is_operand(const Use& use) const {
  const NodeDef& node = *use.node;
  if (node.domain.empty() && lists_input(standard, node.op, use.input)) return true;
  if (is_contrib(node) && lists_input(contrib, node.op, use.input)) return true;
  return is_product(node) && has_weight(node) && is_constant(node, use.input);
}

// Along the features where these are the last dim, and along any one dim where they need not be.
bool Operands::is_term(const Use& use, const Tensor& tensor) const {
  const NodeDef& node = *use.node;
  if (!node.domain.empty() || !one_of(node.op, {"Add", "Sub"}) || node.inputs.size() != 2) {
    return false;
  }
  const auto product = products_.find(node.inputs[1 - use.input]);
  if (product == products_.end()) return false;
  const Shape& shape = tensor.shape();
  const std::size_t wide = wide_dims(shape);
  return wide == 0 || (wide == 1 && (product->second == Product::other || shape.back() > 1));
}

LayerUse Operands::of(std::string_view name, const Tensor& tensor) const {
  LayerUse result = LayerUse::none;
  for (const Use& use : uses_.of(name)) {
    if (is_operand(use)) return LayerUse::operand;
    if (is_term(use, tensor)) result = LayerUse::term;
  }
  return result;
}

bool Operands::is_number(std::string_view name) const {
  const std::vector<Use> readers = uses_.of(name);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const Use& use) {
    const NodeDef& node = *use.node;
    if (!node.domain.empty()) return false;
    if (one_of(node.op, {"Where", "Max", "Min", "Mul", "Div", "Pow", "Clip", "Pad", "Equal",
                         "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})) {
      return true;
    }
    return one_of(node.op, {"Add", "Sub"}) && node.inputs.size() == 2 &&
           !products_.contains(node.inputs[1 - use.input]);
  });
}

}  // namespace ondine::graph
