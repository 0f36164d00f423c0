#include "graph/training/prepare/prediction/logits.h"

namespace ondine::graph {
namespace {

bool is_contrib(const NodeDef& node, std::string_view op) {
  return node.domain == "com.microsoft" && node.op == op;
}

class LinearLayers {
 public:
  explicit LinearLayers(ValueTrace& trace) : trace_(&trace) {}

  bool make(const std::string& value) {
    const auto passes = [this](const NodeDef& node, std::size_t scope) {
      return next_input(node, scope);
    };
    const auto is_layer = [this](const NodeDef& node, std::size_t scope) {
      // Its packed matrix has a rank of its own.
      if (is_contrib(node, "MatMulNBits")) return true;
      const bool is_product = is_standard(node, "MatMul") || is_contrib(node, "FusedMatMul");
      return is_product && has_rank({scope, node.inputs.at(1)}, 2, 2);
    };
    return made_so(*trace_, {0, value}, false, passes, is_layer);
  }

 private:
  std::optional<std::size_t> next_input(const NodeDef& node, std::size_t scope) {
    if (!node.domain.empty()) return std::nullopt;
    if (one_of(node.op, {"Cast", "Dropout", "Identity", "Slice", "Tanh"})) return 0;
    if (!one_of(node.op, {"Add", "Div", "Mul", "Sub"})) return std::nullopt;
    if (has_rank({scope, node.inputs.at(0)}, 0, 1)) return 1;
    if (has_rank({scope, node.inputs.at(1)}, 0, 1)) return 0;
    return std::nullopt;
  }

  // Whether an initializer, which may be converted or transposed, has a rank in these bounds.
  bool has_rank(const ScopedValue& value, std::size_t least, std::size_t most) {
    std::set<ScopedValue> seen;
    ScopedValue one = value;
    while (seen.insert(one).second) {
      if (const InitializerDef* found = trace_->initializer(one)) {
        const std::size_t rank = found->value.shape().rank();
        return rank >= least && rank <= most;
      }
      const std::vector<ScopedValue> aliases = trace_->aliases(one);
      const NodeDef* node = trace_->standard_producer(one);
      if (!aliases.empty()) {
        one = aliases.front();
      } else if (node != nullptr &&
                 one_of(node->op, {"Cast", "DequantizeLinear", "Identity", "Transpose"})) {
        one = {one.scope, node->inputs.at(0)};
      } else {
        return false;
      }
    }
    return false;
  }

  ValueTrace* trace_;
};

}  // namespace

bool is_made_by_linear_layer(ValueTrace& trace, const std::string& value) {
  return LinearLayers(trace).make(value);
}

}  // namespace ondine::graph
