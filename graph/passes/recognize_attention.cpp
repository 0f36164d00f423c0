// softmax(q k * number + mask) v over the last two dims becomes ScaledAttention, and with its
// transposed operands and result one of interleaved heads.
#include <algorithm>
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

struct Factor {
  ValueId value;
  double number;
};

class Recognizer {
 public:
  Recognizer(const Graph& graph, const Catalogue& catalogue, const Uses& uses)
      : graph_(&graph),
        uses_(&uses),
        attention_(catalogue.find(ondine_domain, "ScaledAttention")) {}

  bool operator()(Node& node) const {
    return attention_ != nullptr && (fuse_product(node) || fuse_transposed(node));
  }

 private:
  bool fuse_product(Node& node) const {
    if (attention_ == nullptr || node.op->name != "MatMul" || !node.op->domain.empty())
      return false;
    if (!is_full_float(*graph_, node.outputs[0])) return false;
    const Node* weights = uses_->producer_for(node.inputs[0], 1, "Softmax");
    if (weights == nullptr || !over_last(*weights)) return false;
    const ValueId scores = weights->inputs[0];
    if (fuse(node, scores, no_value)) return true;
    const Node* sum = uses_->producer_for(scores, 1, "Add");
    if (sum == nullptr) return false;
    return fuse(node, sum->inputs[0], sum->inputs[1]) || fuse(node, sum->inputs[1], sum->inputs[0]);
  }

  // What a Transpose of four dims by `perm` makes `value` of, unless a Gradient node names that.
  ValueId transposed(ValueId value, const std::vector<std::int64_t>& perm) const {
    const Node* node = uses_->producer_for(value, uses_->readers(value), "Transpose");
    if (node == nullptr || NodeView(*node).attr_ints("perm") != perm) return no_value;
    return node->inputs[0];
  }
  ValueId rows_first(ValueId value) const { return transposed(value, {0, 2, 1, 3}); }

  // A Transpose of attention over transposed operands.
  bool fuse_transposed(Node& node) const {
    if (node.op->name != "Transpose" || !node.op->domain.empty()) return false;
    const Node* attention =
        uses_->producer_for(node.inputs[0], 1, "ScaledAttention", ondine_domain);
    if (attention == nullptr || NodeView(*attention).attr_int("transK", 0) == 0) return false;
    if (NodeView(node).attr_ints("perm") != std::vector<std::int64_t>{0, 2, 1, 3}) return false;
    std::vector<ValueId> inputs = attention->inputs;
    inputs[0] = rows_first(inputs[0]);
    inputs[2] = rows_first(inputs[2]);
    const ValueId keys = transposed(inputs[1], {0, 2, 3, 1});
    const ValueId rows = transposed(inputs[1], {0, 1, 3, 2});
    inputs[1] = keys != no_value ? keys : rows != no_value ? rows_first(rows) : no_value;
    if (std::count(inputs.begin(), inputs.begin() + 3, no_value) > 0) return false;
    node.op = attention_;
    node.version = 1;
    node.attributes = {{"scale", NodeView(*attention).attr_float("scale", 1)},
                       {"interleaved", std::int64_t{1}}};
    node.inputs = std::move(inputs);
    return true;
  }

  bool over_last(const Node& softmax) const {
    const Type& type = (*graph_)[softmax.inputs[0]].type;
    if (!type.ranked() || type.dims->size() < 2) return false;
    const auto axis = NodeView(softmax).attr_int("axis", softmax.version < 13 ? 1 : -1);
    return NodeView::normalize_axis(axis, type.dims->size()) + 1 == type.dims->size();
  }

  // Splits `value` into a number and a value of the same type.
  Factor factor(ValueId value) const {
    Factor result{value, 1};
    for (int depth = 0; depth < 3; ++depth) {
      const Node* node = uses_->producer_for(result.value, 1, "Mul");
      std::size_t of = 0;
      std::optional<double> by;
      if (node != nullptr) {
        of = uses_->number(node->inputs[1]) ? 0 : 1;
        by = uses_->number(node->inputs[1 - of]);
      } else if ((node = uses_->producer_for(result.value, 1, "Div")) != nullptr) {
        by = uses_->number(node->inputs[1]);
        if (by) by = 1 / *by;
      }
      if (!by || !same_tensor_type(*graph_, node->inputs[of], value)) break;
      result = {node->inputs[of], result.number * *by};
    }
    return result;
  }

  bool same_outer(ValueId a, ValueId b) const {
    const Type& x = (*graph_)[a].type;
    const Type& y = (*graph_)[b].type;
    if (!x.ranked() || !y.ranked() || x.dims->size() != y.dims->size() || x.dims->size() < 2) {
      return false;
    }
    return x.dtype == y.dtype && std::equal(x.dims->begin(), x.dims->end() - 2, y.dims->begin(),
                                            [](Dim p, Dim q) { return p.same(q); });
  }

  // Whether the mask broadcasts to the shape of the scores.
  bool fits(ValueId mask, ValueId scores) const {
    const Type& m = (*graph_)[mask].type;
    const Type& s = (*graph_)[scores].type;
    if (!m.ranked() || !s.ranked() || m.dtype != s.dtype || m.dims->size() > s.dims->size()) {
      return false;
    }
    return std::equal(m.dims->rbegin(), m.dims->rend(), s.dims->rbegin(),
                      [](Dim p, Dim q) { return p.same(1) || p.same(q); });
  }

  bool fuse(Node& node, ValueId scores, ValueId mask) const {
    const Factor outer = factor(scores);
    const Node* product = uses_->producer_for(outer.value, 1, "MatMul");
    if (product == nullptr || (mask != no_value && !fits(mask, outer.value))) return false;
    if (!same_outer(product->inputs[0], product->inputs[1]) ||
        !same_outer(product->inputs[0], node.inputs[1])) {
      return false;
    }
    const Factor q = factor(product->inputs[0]);
    const double scale = outer.number * q.number;
    node.inputs = {q.value, product->inputs[1], node.inputs[1]};
    if (mask != no_value) node.inputs.push_back(mask);
    node.op = attention_;
    node.version = 1;
    node.attributes = {{"scale", static_cast<float>(scale)}, {"transK", std::int64_t{1}}};
    return true;
  }

  const Graph* graph_;
  const Uses* uses_;
  const OpDef* attention_;
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  return fuse_nodes(graph, recognize_attention, context, [&](Node& node, const Uses& uses) {
    return Recognizer(graph, *context.catalogue, uses)(node);
  });
}

}  // namespace

const Pass recognize_attention{"recognize_attention", run};

}  // namespace ondine::graph
