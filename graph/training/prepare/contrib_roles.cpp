#include "graph/training/prepare/contrib_roles.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace ondine::graph {
namespace {

struct Row {
  std::string_view op;
  std::uint32_t inputs;  // bit i: input i
};

constexpr std::uint32_t bits(std::initializer_list<unsigned> inputs) {
  std::uint32_t mask = 0;
  for (const unsigned i : inputs) mask |= 1U << i;
  return mask;
}

// Scales, and zero points where those may be floats.
constexpr Row scales[]{{"DequantizeLinear", bits({1})},
                       {"DynamicQuantizeLSTM", bits({8, 10})},
                       {"DynamicQuantizeMatMul", bits({2})},
                       {"MatMulIntegerToFloat", bits({2, 3})},
                       {"MatMulNBits", bits({2, 3})},
                       {"QAttention", bits({3, 4})},
                       {"QEmbedLayerNormalization", bits({8, 9, 10, 11, 12})},
                       {"QGemm", bits({1, 4, 7})},
                       {"QLinearAdd", bits({1, 4, 6})},
                       {"QLinearAveragePool", bits({1, 3})},
                       {"QLinearGlobalAveragePool", bits({1, 3})},
                       {"QLinearLeakyRelu", bits({1, 3})},
                       {"QLinearMul", bits({1, 4, 6})},
                       {"QLinearSigmoid", bits({1, 3})},
                       {"QuantizeLinear", bits({1})}};

constexpr Row tables[]{{"GroupQueryAttention", bits({7, 8})}, {"RotaryEmbedding", bits({2, 3})}};

template <std::size_t N>
bool holds(const Row (&rows)[N], const std::string& op, std::size_t i) {
  const auto* found =
      std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.op == op; });
  return found != std::end(rows) && i < 32 && (found->inputs >> i & 1U) != 0;
}

}  // namespace

std::string contrib_role(const NodeDef& node, std::size_t i) {
  if (node.domain != "com.microsoft") return {};
  const bool of_operand = node.op == "QLinearConcat" && i % 3 == 0;
  if (of_operand || holds(scales, node.op, i)) return "scale of " + node.op;
  return holds(tables, node.op, i) ? "table of rotations of " + node.op : std::string();
}

}  // namespace ondine::graph
