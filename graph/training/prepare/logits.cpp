#include "graph/training/prepare/logits.h"

#include <algorithm>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/losses/kinds.h"
#include "graph/training/prepare/parameters.h"

namespace ondine::graph {
namespace {

bool normalizes_sums(const NodeDef& node) {
  if (node.domain != "ai.onnx.ml" || node.op != "Normalizer") return false;
  const Attribute* norm = ondine::graph::find(node.attributes, "norm");
  const auto* name = norm == nullptr ? nullptr : std::get_if<std::string>(&norm->data);
  return name != nullptr && *name == "L1";
}

class LogitsFinder {
 public:
  LogitsFinder(GraphDef& graph, Names& names, std::int64_t opset, Loss loss)
      : graph_(&graph), names_(&names), opset_(opset), is_softmax_(reads_softmax(loss)) {}

  std::optional<Logits> find(std::string value) {
    std::vector<NodeDef> moves;
    while (NodeDef* node = producer(value)) {
      if (keeps_elements(*node)) {
        moves.insert(moves.begin(), *node);
        value = node->inputs[0];
        continue;
      }
      // Probabilities of a Softmax sum to 1 already.
      if (is_softmax_ && normalizes_sums(*node)) {
        value = node->inputs[0];
        continue;
      }
      std::optional<Logits> found = is_standard(*node, "If") ? through_branches(*node, value)
                                    : is_softmax_            ? before_softmax(*node)
                                                             : before_sigmoid(*node);
      if (found) found->moves.insert(found->moves.end(), moves.begin(), moves.end());
      return found;
    }
    return std::nullopt;
  }

 private:
  NodeDef* producer(std::string_view value) {
    for (NodeDef& node : graph_->nodes) {
      if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end()) {
        return value.empty() ? nullptr : &node;
      }
    }
    return nullptr;
  }

  // The node that makes input `index`, through what spreads its elements.
  NodeDef* maker(const NodeDef& node, std::size_t index) {
    if (index >= node.inputs.size()) return nullptr;
    NodeDef* found = producer(node.inputs[index]);
    while (found != nullptr && (keeps_elements(*found) || is_standard(*found, "Expand"))) {
      found = producer(found->inputs[0]);
    }
    return found;
  }

  // Looks through Identity and Cast.
  std::string plain(std::string value) {
    NodeDef* node = producer(value);
    while (node != nullptr && (is_standard(*node, "Identity") || is_standard(*node, "Cast"))) {
      value = node->inputs[0];
      node = producer(value);
    }
    return value;
  }

  std::optional<Logits> through_branches(NodeDef& node, const std::string& value) {
    const auto position = std::find(node.outputs.begin(), node.outputs.end(), value);
    const auto index = static_cast<std::size_t>(position - node.outputs.begin());
    Logits found;
    Attributes attributes = node.attributes;
    for (Attribute& attribute : attributes) {
      auto* body = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.data);
      if (body == nullptr || index >= (*body)->outputs.size()) return std::nullopt;
      auto branch = std::make_shared<GraphDef>(**body);
      auto logits = LogitsFinder(*branch, *names_, opset_, is_softmax_).add_output(index);
      if (!logits) return std::nullopt;
      if (found.made_by.empty()) {
        found = std::move(*logits);
      } else if (found.axis != logits->axis || found.flattens != logits->flattens) {
        return std::nullopt;
      }
      *body = std::move(branch);
    }
    node.attributes = std::move(attributes);
    found.value = names_->fresh("logits");
    node.outputs.push_back(found.value);
    return found;
  }

  LogitsFinder(GraphDef& graph, Names& names, std::int64_t opset, bool is_softmax)
      : graph_(&graph), names_(&names), opset_(opset), is_softmax_(is_softmax) {}

  // Makes the logits of an output of a branch another output.
  std::optional<Logits> add_output(std::size_t index) {
    std::optional<Logits> found = find(graph_->outputs[index].name);
    if (!found) return std::nullopt;
    std::string value = found->value;
    for (NodeDef move : std::exchange(found->moves, {})) {
      found->axis.reset();
      move.inputs[0] = value;
      value = names_->fresh("logits");
      move.name.clear();
      move.outputs = {value};
      graph_->nodes.push_back(std::move(move));
    }
    if (producer(value) == nullptr || value == graph_->outputs[index].name) {
      NodeDef copy;
      copy.op = "Identity";
      copy.inputs = {value};
      copy.outputs = {names_->fresh("logits")};
      value = copy.outputs[0];
      graph_->nodes.push_back(std::move(copy));
    }
    ValueDef output = graph_->outputs[index];
    output.name = value;
    graph_->outputs.push_back(std::move(output));
    return found;
  }

  std::optional<Logits> before_softmax(const NodeDef& node) {
    if (is_standard(node, "Softmax") || is_standard(node, "LogSoftmax")) {
      const std::int64_t axis = integer_attribute(node, "axis", opset_ < 13 ? 1 : -1);
      return Logits{node.inputs.at(0), {}, axis, opset_ < 13, named_operator(node)};
    }
    if (is_standard(node, "Log")) {
      const NodeDef* inner = producer(plain(node.inputs.at(0)));
      return inner == nullptr || is_standard(*inner, "Log") ? std::nullopt : before_softmax(*inner);
    }
    if (is_standard(node, "Div")) return normalized(node, maker(node, 1), node);
    if (is_standard(node, "Mul")) {
      const NodeDef* inverse = maker(node, 1);
      if (inverse == nullptr || !is_standard(*inverse, "Reciprocal")) return std::nullopt;
      return normalized(node, maker(*inverse, 0), node);
    }
    if (is_standard(node, "Sub")) return before_log_sum(node);
    return std::nullopt;
  }

  // Exp(z) over its ReduceSum.
  std::optional<Logits> normalized(const NodeDef& node, const NodeDef* sum, const NodeDef& last) {
    const std::string numerator = plain(node.inputs.at(0));
    const NodeDef* exp = producer(numerator);
    if (sum == nullptr || exp == nullptr || !is_standard(*sum, "ReduceSum") ||
        !is_standard(*exp, "Exp") || plain(sum->inputs.at(0)) != numerator) {
      return std::nullopt;
    }
    return reduced(exp->inputs[0], *sum, last);
  }

  // z - Log(ReduceSum(Exp(z))) or z - ReduceLogSumExp(z).
  std::optional<Logits> before_log_sum(const NodeDef& node) {
    const NodeDef* sum = maker(node, 1);
    const std::string z = plain(node.inputs.at(0));
    if (sum == nullptr) return std::nullopt;
    if (is_standard(*sum, "ReduceLogSumExp")) {
      return plain(sum->inputs.at(0)) == z ? reduced(z, *sum, node) : std::nullopt;
    }
    sum = is_standard(*sum, "Log") ? maker(*sum, 0) : nullptr;
    if (sum == nullptr || !is_standard(*sum, "ReduceSum")) return std::nullopt;
    const NodeDef* exp = producer(plain(sum->inputs.at(0)));
    if (exp == nullptr || !is_standard(*exp, "Exp") || plain(exp->inputs[0]) != z) {
      return std::nullopt;
    }
    return reduced(z, *sum, node);
  }

  // x of z = x - ReduceMax(x), else z.
  std::optional<Logits> reduced(const std::string& z, const NodeDef& sum, const NodeDef& last) {
    const auto axis = one_axis(sum);
    if (!axis) return std::nullopt;
    const NodeDef* shift = producer(plain(z));
    std::string value = z;
    if (shift != nullptr && is_standard(*shift, "Sub")) {
      const NodeDef* most = maker(*shift, 1);
      // max(-inf, x) of a compiler is the same
      while (most != nullptr && is_standard(*most, "Max")) {
        const NodeDef* first = maker(*most, 0);
        most = first != nullptr && !is_standard(*first, "Constant") ? first : maker(*most, 1);
      }
      const std::string x = plain(shift->inputs.at(0));
      if (most != nullptr && is_standard(*most, "ReduceMax") && plain(most->inputs.at(0)) == x) {
        value = shift->inputs[0];
      }
    }
    return Logits{value, {}, axis, false, named_operator(last)};
  }

  std::optional<std::int64_t> one_axis(const NodeDef& reduction) {
    std::optional<std::vector<std::int64_t>> axes;
    if (const Attribute* given = graph::find(reduction.attributes, "axes")) {
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&given->data)) axes = *list;
    } else if (reduction.inputs.size() > 1) {
      axes = constant_integers(*graph_, reduction.inputs[1]);
    }
    if (!axes || axes->size() != 1) return std::nullopt;
    return axes->front();
  }

  // Sigmoid(x), or 1 / (1 + Exp(-x)).
  std::optional<Logits> before_sigmoid(const NodeDef& node) {
    if (is_standard(node, "Sigmoid")) {
      return Logits{node.inputs.at(0), {}, {}, false, named_operator(node)};
    }
    const bool divides =
        is_standard(node, "Div") && constant_number(*graph_, node.inputs.at(0)) == 1.0;
    if (!divides && !is_standard(node, "Reciprocal")) return std::nullopt;
    const NodeDef* sum = producer(plain(node.inputs.at(divides ? 1 : 0)));
    if (sum == nullptr || !is_standard(*sum, "Add")) return std::nullopt;
    for (const std::size_t one : {std::size_t{0}, std::size_t{1}}) {
      if (constant_number(*graph_, sum->inputs.at(one)) != 1.0) continue;
      const NodeDef* exp = producer(plain(sum->inputs[1 - one]));
      if (exp == nullptr || !is_standard(*exp, "Exp")) continue;
      const NodeDef* negated = producer(plain(exp->inputs.at(0)));
      if (negated == nullptr || !is_standard(*negated, "Neg")) continue;
      return Logits{negated->inputs.at(0), {}, {}, false, named_operator(node)};
    }
    return std::nullopt;
  }

  GraphDef* graph_;
  Names* names_;
  std::int64_t opset_;
  bool is_softmax_;
};

}  // namespace

bool keeps_elements(const NodeDef& node) noexcept {
  if (!node.domain.empty() || node.inputs.empty()) return false;
  if (node.op == "Cast") {
    return is_differentiable(static_cast<DType>(integer_attribute(node, "to", 0)));
  }
  return one_of(node.op, {"Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose"});
}

std::string named_operator(const NodeDef& node) {
  if (node.name.empty() && node.outputs.empty()) return node.op;
  return node.op + " " + quoted(node.name.empty() ? node.outputs[0] : node.name);
}

std::optional<Logits> find_logits(GraphDef& graph, Names& names, std::int64_t opset,
                                  const std::string& value, Loss loss) {
  return LogitsFinder(graph, names, opset, loss).find(value);
}

}  // namespace ondine::graph
