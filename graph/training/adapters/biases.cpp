#include "graph/training/adapters/biases.h"

#include <algorithm>

#include "graph/training/prepare/input_table.h"

namespace ondine::graph {
namespace {

constexpr InputRow standard[]{{"BatchNormalization", input_bits({2})},
                              {"Conv", input_bits({2})},
                              {"ConvTranspose", input_bits({2})},
                              {"DeformConv", input_bits({3})},
                              {"GRU", input_bits({3})},
                              {"Gemm", input_bits({2})},
                              {"GroupNormalization", input_bits({2})},
                              {"InstanceNormalization", input_bits({2})},
                              {"LSTM", input_bits({3})},
                              {"LayerNormalization", input_bits({2})},
                              {"RNN", input_bits({3})}};

constexpr InputRow contrib[]{{"Attention", input_bits({2})},
                             {"BiasGelu", input_bits({1})},
                             {"EmbedLayerNormalization", input_bits({6})},
                             {"FastGelu", input_bits({1})},
                             {"FusedConv", input_bits({2})},
                             {"FusedGemm", input_bits({2})},
                             {"GroupNorm", input_bits({2})},
                             {"MatMulNBits", input_bits({5})},
                             {"SkipLayerNormalization", input_bits({3, 4})},
                             {"SkipSimplifiedLayerNormalization", input_bits({3})}};

bool adds_input(const Use& use) {
  const NodeDef& node = *use.node;
  if (node.domain.empty()) return lists_input(standard, node.op, use.input);
  return node.domain == "com.microsoft" && lists_input(contrib, node.op, use.input);
}

}  // namespace

bool is_bias(const Operands& operands, const InitializerDef& one) {
  if (operands.of(one.name, one.value) == LayerUse::term) return true;
  const std::vector<Use> readers = operands.uses().of(one.name);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), adds_input);
}

}  // namespace ondine::graph
