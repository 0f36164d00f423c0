#include "graph/training/prepare/prediction/activation_forms.h"

#include "graph/training/prepare/values.h"

namespace ondine::graph {
namespace {

class Forms {
 public:
  Forms(const LocalGraph& local, std::int64_t opset) : local_(&local), opset_(opset) {}

  std::optional<Logits> before_softmax(const NodeDef& node) const {
    if (is_standard(node, "Softmax") || is_standard(node, "LogSoftmax")) {
      const std::int64_t axis = integer_attribute(node, "axis", opset_ < 13 ? 1 : -1);
      return Logits{node.inputs.at(0), {}, axis, opset_ < 13, named_operator(node)};
    }
    if (is_standard(node, "Log")) {
      const NodeDef* inner = local_->producer(local_->plain(node.inputs.at(0)));
      return inner == nullptr || is_standard(*inner, "Log") ? std::nullopt : before_softmax(*inner);
    }
    if (is_standard(node, "Div")) return normalized(node, local_->maker(node, 1), node);
    if (is_standard(node, "Mul")) {
      const NodeDef* inverse = local_->maker(node, 1);
      if (inverse == nullptr || !is_standard(*inverse, "Reciprocal")) return std::nullopt;
      return normalized(node, local_->maker(*inverse, 0), node);
    }
    if (is_standard(node, "Sub")) return before_log_sum(node);
    return std::nullopt;
  }

  // Exp(z) over its ReduceSum.
  std::optional<Logits> normalized(const NodeDef& node, const NodeDef* sum,
                                   const NodeDef& last) const {
    const std::string numerator = local_->plain(node.inputs.at(0));
    const NodeDef* exp = local_->producer(numerator);
    if (sum == nullptr || exp == nullptr || !is_standard(*sum, "ReduceSum") ||
        !is_standard(*exp, "Exp") || local_->plain(sum->inputs.at(0)) != numerator) {
      return std::nullopt;
    }
    return reduced(exp->inputs[0], *sum, last);
  }

  // z - Log(ReduceSum(Exp(z))) or z - ReduceLogSumExp(z).
  std::optional<Logits> before_log_sum(const NodeDef& node) const {
    const NodeDef* sum = local_->maker(node, 1);
    const std::string z = local_->plain(node.inputs.at(0));
    if (sum == nullptr) return std::nullopt;
    if (is_standard(*sum, "ReduceLogSumExp")) {
      return local_->plain(sum->inputs.at(0)) == z ? reduced(z, *sum, node) : std::nullopt;
    }
    sum = is_standard(*sum, "Log") ? local_->maker(*sum, 0) : nullptr;
    if (sum == nullptr || !is_standard(*sum, "ReduceSum")) return std::nullopt;
    const NodeDef* exp = local_->producer(local_->plain(sum->inputs.at(0)));
    if (exp == nullptr || !is_standard(*exp, "Exp") || local_->plain(exp->inputs[0]) != z) {
      return std::nullopt;
    }
    return reduced(z, *sum, node);
  }

  // x of z = x - ReduceMax(x), else z.
  std::optional<Logits> reduced(const std::string& z, const NodeDef& sum,
                                const NodeDef& last) const {
    const auto axis = one_axis(sum);
    if (!axis) return std::nullopt;
    const NodeDef* shift = local_->producer(local_->plain(z));
    std::string value = z;
    if (shift != nullptr && is_standard(*shift, "Sub")) {
      const NodeDef* most = local_->maker(*shift, 1);
      // max(-inf, x) of a compiler is the same
      while (most != nullptr && is_standard(*most, "Max")) {
        const NodeDef* first = local_->maker(*most, 0);
        most =
            first != nullptr && !is_standard(*first, "Constant") ? first : local_->maker(*most, 1);
      }
      const std::string x = local_->plain(shift->inputs.at(0));
      if (most != nullptr && is_standard(*most, "ReduceMax") &&
          local_->plain(most->inputs.at(0)) == x) {
        value = shift->inputs[0];
      }
    }
    return Logits{value, {}, axis, false, named_operator(last)};
  }

  std::optional<std::int64_t> one_axis(const NodeDef& reduction) const {
    std::optional<std::vector<std::int64_t>> axes;
    if (const Attribute* given = graph::find(reduction.attributes, "axes")) {
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&given->data)) axes = *list;
    } else if (reduction.inputs.size() > 1) {
      axes = local_->integers(reduction.inputs[1]);
    }
    if (!axes || axes->size() != 1) return std::nullopt;
    return axes->front();
  }

  // Sigmoid(x), or 1 / (1 + Exp(-x)).
  std::optional<Logits> before_sigmoid(const NodeDef& node) const {
    if (is_standard(node, "Sigmoid")) {
      return Logits{node.inputs.at(0), {}, {}, false, named_operator(node)};
    }
    const bool divides = is_standard(node, "Div") && local_->number(node.inputs.at(0)) == 1.0;
    if (!divides && !is_standard(node, "Reciprocal")) return std::nullopt;
    const NodeDef* sum = local_->producer(local_->plain(node.inputs.at(divides ? 1 : 0)));
    if (sum == nullptr || !is_standard(*sum, "Add")) return std::nullopt;
    for (const std::size_t one : {std::size_t{0}, std::size_t{1}}) {
      if (local_->number(sum->inputs.at(one)) != 1.0) continue;
      const NodeDef* exp = local_->producer(local_->plain(sum->inputs[1 - one]));
      if (exp == nullptr || !is_standard(*exp, "Exp")) continue;
      const NodeDef* negated = local_->producer(local_->plain(exp->inputs.at(0)));
      if (negated == nullptr || !is_standard(*negated, "Neg")) continue;
      return Logits{negated->inputs.at(0), {}, {}, false, named_operator(node)};
    }
    return std::nullopt;
  }

 private:
  const LocalGraph* local_;
  std::int64_t opset_;
};

}  // namespace

void LocalGraph::index() {
  producers_.clear();
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    for (const std::string& output : graph_->nodes[i].outputs) {
      if (!output.empty()) producers_[output] = i;
    }
  }
}

std::size_t LocalGraph::index_of(const std::string& value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? graph_->nodes.size() : found->second;
}

const NodeDef* LocalGraph::producer(const std::string& value) const {
  const std::size_t found = index_of(value);
  return found == graph_->nodes.size() ? nullptr : &graph_->nodes[found];
}

const NodeDef* LocalGraph::maker(const NodeDef& node, std::size_t index) const {
  if (index >= node.inputs.size()) return nullptr;
  const NodeDef* found = producer(node.inputs[index]);
  while (found != nullptr && (keeps_elements(*found) || is_standard(*found, "Expand"))) {
    found = producer(found->inputs[0]);
  }
  return found;
}

std::string LocalGraph::plain(std::string value) const {
  const NodeDef* node = producer(value);
  while (node != nullptr && (is_standard(*node, "Identity") || is_standard(*node, "Cast"))) {
    value = node->inputs[0];
    node = producer(value);
  }
  return value;
}

std::optional<std::vector<std::int64_t>> LocalGraph::integers(const std::string& name) const {
  auto found = constant_integers(*graph_, name);
  return found || outer_ == nullptr ? found : outer_->integers(name);
}

std::optional<double> LocalGraph::number(const std::string& name) const {
  const auto found = constant_number(*graph_, name);
  return found || outer_ == nullptr ? found : outer_->number(name);
}

std::optional<Logits> before_softmax(const LocalGraph& graph, const NodeDef& node,
                                     std::int64_t opset) {
  return Forms(graph, opset).before_softmax(node);
}

std::optional<Logits> before_sigmoid(const LocalGraph& graph, const NodeDef& node) {
  return Forms(graph, 0).before_sigmoid(node);
}

}  // namespace ondine::graph
