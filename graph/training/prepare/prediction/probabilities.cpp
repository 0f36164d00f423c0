#include <algorithm>

#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/prediction/logits.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {
namespace {

bool is_contrib(const NodeDef& node, std::initializer_list<std::string_view> list) {
  return node.domain == "com.microsoft" && one_of(node.op, list);
}

bool quantizes(const NodeDef& node) {
  return (node.domain.empty() || node.domain == "com.microsoft") &&
         one_of(node.op, {"DequantizeLinear", "QuantizeLinear"});
}

bool makes_probabilities(const NodeDef& node) {
  if (node.domain == "ai.onnx.ml") return node.op == "Normalizer";
  if (is_contrib(node, {"BiasSoftmax", "QLinearSigmoid", "QLinearSoftmax"})) return true;
  return node.domain.empty() &&
         one_of(node.op, {"Softmax", "LogSoftmax", "Sigmoid", "HardSigmoid"});
}

// Operators whose result is made of elements of their first input, or of means of them.
bool keeps_probabilities(const NodeDef& node) {
  if (node.inputs.empty()) return false;
  if (node.domain == "ai.onnx.ml") return node.op == "ZipMap";
  if (quantizes(node)) return true;
  if (!node.domain.empty()) return false;
  return keeps_elements(node) || one_of(node.op, {"Abs",
                                                  "AveragePool",
                                                  "Clip",
                                                  "Compress",
                                                  "ConcatFromSequence",
                                                  "DepthToSpace",
                                                  "Dropout",
                                                  "Expand",
                                                  "Gather",
                                                  "GatherElements",
                                                  "GatherND",
                                                  "GlobalAveragePool",
                                                  "GlobalMaxPool",
                                                  "MaxPool",
                                                  "Neg",
                                                  "Optional",
                                                  "OptionalGetElement",
                                                  "ReduceMax",
                                                  "ReduceMean",
                                                  "ReduceMin",
                                                  "ReduceProd",
                                                  "Relu",
                                                  "Resize",
                                                  "ReverseSequence",
                                                  "SequenceAt",
                                                  "SequenceErase",
                                                  "Slice",
                                                  "SpaceToDepth",
                                                  "Split",
                                                  "SplitToSequence",
                                                  "Tile",
                                                  "TopK",
                                                  "Upsample"});
}

// Operators that give probabilities of probabilities and constants alone.
bool combines_probabilities(const NodeDef& node) {
  return node.domain.empty() &&
         one_of(node.op, {"Add", "Concat", "Div", "Log", "Max", "Mean", "Min", "Mul", "Pow",
                          "SequenceConstruct", "SequenceInsert", "Sub", "Sum", "Where"});
}

class Probabilities {
 public:
  explicit Probabilities(ValueTrace& trace) : trace_(&trace) {}

  const NodeDef* source(const std::string& value) { return find({0, value}).node; }

 private:
  // Depth of expressions; nodes that merely pass a value on do not count.
  static constexpr int max_depth = 500;

  struct Found {
    const NodeDef* node = nullptr;
    bool is_neutral = false;  // a constant, or what a loop carries: others decide
  };

  // Source of one of the values that `value` may be, by branch or iteration.
  Found find(const ScopedValue& value) {
    const auto [known, fresh] = known_.try_emplace(value, Found{nullptr, true});
    if (!fresh) return known->second;
    std::set<ScopedValue> seen;
    std::vector<ScopedValue> open{value};
    std::vector<ScopedValue> same;  // whose source is that of `value`
    Found result{nullptr, true};
    while (!open.empty() && result.node == nullptr) {
      const ScopedValue one = std::move(open.back());
      open.pop_back();
      if (!seen.insert(one).second) continue;
      if (open.empty() && same.size() + 1 == seen.size()) same.push_back(one);
      const Found found = of_one(one, open);
      result.node = found.node;
      result.is_neutral = result.is_neutral && found.is_neutral;
    }
    for (const ScopedValue& one : same) known_[one] = result;
    return result;
  }

  // The source of one value, or neutral and the values that it is in `open`.
  Found of_one(const ScopedValue& value, std::vector<ScopedValue>& open) {
    constexpr Found neutral{nullptr, true};
    const auto known = known_.find(value);
    if (known != known_.end() && known->second.node != nullptr) return known->second;
    if (trace_->is_constant(value)) return neutral;
    const std::vector<ScopedValue> aliases = trace_->aliases(value);
    open.insert(open.end(), aliases.rbegin(), aliases.rend());
    if (!aliases.empty()) return neutral;
    const NodeDef* node = trace_->producer(value);
    if (node == nullptr) return {};
    if (makes_probabilities(*node) || is_normalization(*node, value.scope) ||
        is_sigmoid(*node, value.scope)) {
      return {node, false};
    }
    if (keeps_probabilities(*node)) {
      open.push_back({value.scope, node->inputs[0]});
      return neutral;
    }
    return combines_probabilities(*node) ? of_all(*node, value.scope) : Found{};
  }

  Found of_all(const NodeDef& node, std::size_t scope) {
    if (depth_ >= max_depth) return {};
    ++depth_;
    Found result{nullptr, true};
    const bool is_sequence = node.op.starts_with("Sequence");
    for (std::size_t i = node.op == "Where" ? 1 : 0; i < node.inputs.size(); ++i) {
      const Found one = find({scope, node.inputs[i]});
      if (one.is_neutral && one.node == nullptr) continue;
      // Probabilities in part.
      if (one.node == nullptr && (node.op == "Concat" || is_sequence)) continue;
      if (one.node == nullptr) {
        result = {};
        break;
      }
      result.is_neutral = false;
      if (result.node == nullptr) result.node = one.node;
    }
    --depth_;
    return result;
  }

  // The node that makes a value, through what moves and spreads its elements.
  const NodeDef* maker(ScopedValue& value) const {
    while (true) {
      const std::vector<ScopedValue> aliases = trace_->aliases(value);
      const NodeDef* node = trace_->standard_producer(value);
      if (aliases.size() == 1) {
        value = aliases.front();
      } else if (node != nullptr && (keeps_elements(*node) || is_standard(*node, "Expand"))) {
        value = {value.scope, node->inputs.at(0)};
      } else {
        return node;
      }
    }
  }

  // Over its own sum.
  bool is_normalization(const NodeDef& node, std::size_t scope) const {
    if (!is_standard(node, "Div") || node.inputs.size() != 2) return false;
    ScopedValue of{scope, node.inputs[1]};
    const NodeDef* divisor = maker(of);
    return divisor != nullptr && divisor->op == "ReduceSum" &&
           divisor->inputs.at(0) == node.inputs[0];
  }

  // 1 / (1 + e^-x), written so.
  bool is_sigmoid(const NodeDef& node, std::size_t scope) const {
    const bool divides = is_standard(node, "Div") && node.inputs.size() == 2 &&
                         trace_->is_constant({scope, node.inputs[0]});
    if (!divides && !is_standard(node, "Reciprocal")) return false;
    ScopedValue at{scope, node.inputs.at(divides ? 1 : 0)};
    const NodeDef* sum = maker(at);
    if (sum == nullptr || sum->op != "Add" || sum->inputs.size() != 2) return false;
    for (const std::size_t one : {std::size_t{0}, std::size_t{1}}) {
      ScopedValue power{at.scope, sum->inputs[1 - one]};
      const NodeDef* exp = maker(power);
      const bool adds = trace_->is_constant({at.scope, sum->inputs[one]});
      if (adds && exp != nullptr && exp->op == "Exp") return true;
    }
    return false;
  }

  ValueTrace* trace_;
  int depth_ = 0;
  std::map<ScopedValue, Found> known_;
};

}  // namespace

std::string probability_source(ValueTrace& trace, const std::string& value) {
  const NodeDef* found = Probabilities(trace).source(value);
  return found == nullptr ? std::string() : named_operator(*found);
}

bool is_log_probability(ValueTrace& trace, const std::string& value) {
  const auto decide = [&](const NodeDef& node, std::size_t scope) {
    if (!node.domain.empty()) return false;
    if (node.op == "LogSoftmax" || node.op == "Log") return true;
    if (node.op != "Sub" || node.inputs.size() != 2) return false;
    const NodeDef* subtracted = trace.standard_producer({scope, node.inputs[1]});
    return subtracted != nullptr && one_of(subtracted->op, {"Log", "ReduceLogSumExp"});
  };
  const auto passes = [](const NodeDef& node, std::size_t) {
    const bool keeps = keeps_elements(node) || quantizes(node);
    return keeps ? std::optional<std::size_t>(0) : std::nullopt;
  };
  return made_so(trace, {0, value}, true, passes, decide);
}

std::string product_source(ValueTrace& trace, const std::string& value) {
  std::string result;
  const auto is_product = [&](const ScopedValue& one) {
    const NodeDef* node = trace.standard_producer(one);
    return node != nullptr && makes_products(node->op);
  };
  const auto decide = [&](const NodeDef& node, std::size_t scope) {
    const bool adds_bias =
        is_standard(node, "Add") &&
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
          return is_product({scope, input});
        });
    const bool is_one = node.domain.empty() && makes_products(node.op);
    if (!adds_bias && !is_one) return false;
    result = named_operator(node);
    return true;
  };
  const auto passes = [](const NodeDef& node, std::size_t) {
    return is_standard(node, "Identity") ? std::optional<std::size_t>(0) : std::nullopt;
  };
  made_so(trace, {0, value}, true, passes, decide);
  return result;
}

}  // namespace ondine::graph
