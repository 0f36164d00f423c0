#include "graph/training/prepare/parameters/contrib_roles.h"

#include "graph/training/prepare/input_table.h"

namespace ondine::graph {
namespace {

// Scales, and zero points where those may be floats.
constexpr InputRow scales[]{{"DequantizeLinear", input_bits({1})},
                            {"DynamicQuantizeLSTM", input_bits({8, 10})},
                            {"DynamicQuantizeMatMul", input_bits({2})},
                            {"GatherBlockQuantized", input_bits({2})},
                            {"MatMulIntegerToFloat", input_bits({2, 3})},
                            {"MatMulNBits", input_bits({2, 3})},
                            {"QAttention", input_bits({3, 4})},
                            {"QEmbedLayerNormalization", input_bits({8, 9, 10, 11, 12})},
                            {"QGemm", input_bits({1, 4, 7})},
                            {"QLinearAdd", input_bits({1, 4, 6})},
                            {"QLinearAveragePool", input_bits({1, 3})},
                            {"QLinearGlobalAveragePool", input_bits({1, 3})},
                            {"QLinearLeakyRelu", input_bits({1, 3})},
                            {"QLinearMul", input_bits({1, 4, 6})},
                            {"QLinearSigmoid", input_bits({1, 3})},
                            {"QuantizeLinear", input_bits({1})}};

constexpr InputRow tables[]{{"GroupQueryAttention", input_bits({7, 8})},
                            {"RotaryEmbedding", input_bits({2, 3})}};

}  // namespace

std::string contrib_role(const NodeDef& node, std::size_t i) {
  if (node.domain != "com.microsoft") return {};
  const bool of_operand = node.op == "QLinearConcat" && i % 3 == 0;
  if (of_operand || lists_input(scales, node.op, i)) return "scale of " + node.op;
  return lists_input(tables, node.op, i) ? "table of rotations of " + node.op : std::string();
}

}  // namespace ondine::graph
