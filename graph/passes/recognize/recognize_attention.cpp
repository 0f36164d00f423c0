// softmax(q k * number + mask) v over the last two dims, and ONNX's Attention, become
// ScaledAttention, and with its
// transposed operands and result one of interleaved heads, also where samples and rows are
// transposed around it, and then PackedAttention where it reads the parts of one product. Two masks
// are added first, which are small where heads or samples share them. One may be added to the
// scores seen as ..., windows, heads, queries, keys, as that of shifted windows is.
#include <algorithm>

#include "graph/passes/fuse.h"
#include "graph/passes/recognize/attention_heads.h"
#include "graph/passes/recognize/attention_operator.h"
#include "graph/passes/recognize/packed_attention.h"
#include "graph/passes/samples_first.h"

namespace ondine::graph {
namespace {

struct Factor {
  ValueId value;
  double number;
};

// Terms that are added to scores.
struct Masks {
  std::vector<ValueId> values;
  const Node* sum = nullptr;  // of two
  Dims dims;                  // of the scores where they are added; empty: those of the product
  bool zero_rows = false;     // whether the weights of rows without keys are 0

  Masks with(ValueId mask, const Node& add) const {
    Masks more = *this;
    more.values.push_back(mask);
    more.sum = &add;
    return more;
  }
};

class Recognizer {
 public:
  Recognizer(Graph& graph, const Catalogue& catalogue, const Uses& uses)
      : graph_(&graph),
        uses_(&uses),
        attention_(catalogue.find(ondine_domain, "ScaledAttention")),
        reshape_(graph, catalogue) {}

  // A MatMul of the weights and the values.
  bool operator()(Node& node, std::vector<Node>& before) const {
    if (attention_ == nullptr || !is_full_float(*graph_, node.outputs[0])) return false;
    const ValueId used = node.inputs[0];
    const ValueId guarded = without_guard(used);
    const Node* weights = uses_->producer_for(guarded, guarded == used ? 1 : 2, "Softmax");
    if (weights == nullptr || !over_last(*weights)) return false;
    const ValueId scores = weights->inputs[0];
    Masks none;
    none.zero_rows = guarded != used;
    return fuse(node, scores, none, before) || fuse_windows(node, scores, none, before);
  }

 private:
  // The p of Where(IsNaN(p), 0, p), or `weights`. PyTorch writes so that queries without keys give
  // 0. (Weights of scores that are not finite, which it hides, stay NaN.)
  ValueId without_guard(ValueId weights) const {
    const Node* choice = uses_->producer_for(weights, 1, "Where");
    if (choice == nullptr || uses_->number(choice->inputs[1]) != 0.0) return weights;
    const Node* test = uses_->producer_for(choice->inputs[0], 1, "IsNaN");
    const bool same = test != nullptr && test->inputs[0] == choice->inputs[2];
    return same && same_rank(weights, choice->inputs[2]) ? choice->inputs[2] : weights;
  }
  bool same_rank(ValueId a, ValueId b) const {
    const Type& x = (*graph_)[a].type;
    const Type& y = (*graph_)[b].type;
    return x.ranked() && y.ranked() && x.rank() == y.rank();
  }

  // Scores that were seen with their first dim as two when a mask was added.
  bool fuse_windows(Node& node, ValueId scores, const Masks& none,
                    std::vector<Node>& before) const {
    const Node* back = uses_->producer_for(scores, 1, "Reshape");
    const Node* sum = back != nullptr ? uses_->producer_for(back->inputs[0], 1, "Add") : nullptr;
    if (sum == nullptr || !reshape_) return false;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Node* view = uses_->producer_for(sum->inputs[side], 1, "Reshape");
      if (view == nullptr || !same_tensor_type(*graph_, view->inputs[0], scores)) continue;
      const Type& type = (*graph_)[sum->inputs[side]].type;
      if (!splits_first((*graph_)[scores].type, type)) continue;
      Masks masks = none.with(sum->inputs[1 - side], *sum);
      masks.dims = *type.dims;
      if (fuse(node, view->inputs[0], masks, before)) return true;
    }
    return false;
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

  // Whether the mask broadcasts to the scores. `known_keys`: whether the product with v only takes
  // scores of so many keys.
  bool fits(ValueId mask, const Dims& scores, bool known_keys, DType dtype) const {
    const Type& m = (*graph_)[mask].type;
    if (!m.ranked() || m.dtype != dtype || m.dims->size() > scores.size()) return false;
    const std::ptrdiff_t decided = known_keys ? decided_dims(*m.dims, scores) : 0;
    return std::equal(m.dims->rbegin() + decided, m.dims->rend(), scores.rbegin() + decided,
                      [](Dim p, Dim q) { return p.same(1) || p.same(q); });
  }
  // How many of the last dims of a mask fit wherever the scores have as many keys as v: the keys,
  // and the queries where these are as many and the mask is a square that one key does not fill.
  static std::ptrdiff_t decided_dims(const Dims& mask, const Dims& scores) {
    const std::size_t n = mask.size();
    if (n < 2) return static_cast<std::ptrdiff_t>(n);
    const bool square = mask[n - 1].known() && mask[n - 1].size() > 1 &&
                        mask[n - 1].same(mask[n - 2]) &&
                        scores.back().same(scores[scores.size() - 2]);
    return square ? 2 : 1;
  }

  // As fuse_product, or with a mask that is added first.
  bool fuse(Node& node, ValueId scores, const Masks& masks, std::vector<Node>& before) const {
    if (fuse_product(node, scores, masks, before)) return true;
    const Node* sum = masks.values.size() < 2 ? uses_->producer_for(scores, 1, "Add") : nullptr;
    if (sum == nullptr) return false;
    return fuse(node, sum->inputs[0], masks.with(sum->inputs[1], *sum), before) ||
           fuse(node, sum->inputs[1], masks.with(sum->inputs[0], *sum), before);
  }

  bool fuse_product(Node& node, ValueId scores, const Masks& masks,
                    std::vector<Node>& before) const {
    const Factor outer = factor(scores);
    const Node* product = uses_->producer_for(outer.value, 1, "MatMul");
    if (product == nullptr) return false;
    const Type& type = (*graph_)[outer.value].type;
    if (!type.ranked()) return false;
    const bool in_windows = !masks.dims.empty();
    const Dims& dims = in_windows ? masks.dims : *type.dims;
    if (!same_outer(product->inputs[0], product->inputs[1]) ||
        !same_outer(product->inputs[0], node.inputs[1])) {
      return false;
    }
    const Dims& values = *(*graph_)[node.inputs[1]].type.dims;
    const bool known_keys = dims.back().same(values[values.size() - 2]);
    if (!std::ranges::all_of(
            masks.values, [&](ValueId mask) { return fits(mask, dims, known_keys, type.dtype); })) {
      return false;
    }
    const Factor q = factor(product->inputs[0]);
    Factor k = factor(product->inputs[1]);
    double scale = outer.number * q.number * k.number;
    const ValueId rows = rows_of(k.value);
    if (rows != no_value) {
      k = factor(rows);
      scale *= k.number;
    }
    const Attributes attributes{
        {"scale", static_cast<float>(scale)},
        {"transK", std::int64_t{rows == no_value}},
        {"zero_rows", std::int64_t{masks.zero_rows && !masks.values.empty()}}};
    std::vector<ValueId> inputs{q.value, k.value, node.inputs[1]};
    if (in_windows) {
      for (ValueId& input : inputs) input = split(input, dims, before);
    }
    if (masks.values.size() == 1) inputs.push_back(masks.values[0]);
    if (masks.values.size() == 2) {
      inputs.push_back(append_node(*graph_, before, *masks.sum->op, masks.sum->version,
                                   {masks.values[1], masks.values[0]}));
    }
    if (in_windows) {
      reshape_.make_view(
          node, append_node(*graph_, before, *attention_, 1, std::move(inputs), attributes));
      return true;
    }
    node.inputs = std::move(inputs);
    node.op = attention_;
    node.version = 1;
    node.attributes = attributes;
    return true;
  }

  const Node* producer(ValueId id, std::string_view op) const {
    return uses_->producer_for(id, uses_->readers(id), op);
  }

  // The keys as rows, of which `value` is the transposition; no_value if it is none.
  ValueId rows_of(ValueId value) const {
    const Node* turned = producer(value, "Transpose");
    const Node* view = turned == nullptr ? producer(value, "Reshape") : nullptr;
    if (view != nullptr) return rows_of_view(*view);
    return turned != nullptr && turns(*turned) ? turned->inputs[0] : no_value;
  }
  // Whether a Transpose swaps the last two dims.
  bool turns(const Node& node) const {
    const Type& type = (*graph_)[node.outputs[0]].type;
    return type.ranked() && swaps_last_two(NodeView(node), type.rank());
  }
  // The keys as rows if all dims before the last two are merged into one while these are swapped.
  ValueId rows_of_view(const Node& view) const {
    const Node* turned = producer(view.inputs[0], "Transpose");
    const Node* merged =
        turned != nullptr && turns(*turned) ? producer(turned->inputs[0], "Reshape") : nullptr;
    if (merged == nullptr) return no_value;
    const ValueId rows = merged->inputs[0];
    const Type& from = (*graph_)[rows].type;
    const Type& one = (*graph_)[merged->outputs[0]].type;
    const Type& to = (*graph_)[view.outputs[0]].type;
    if (!from.ranked() || !one.ranked() || !to.ranked() || one.rank() != 3) return no_value;
    if (from.rank() < 3 || to.rank() != from.rank()) return no_value;
    Dims wanted = *from.dims;
    if (!std::equal(one.dims->begin() + 1, one.dims->end(), wanted.end() - 2,
                    [](Dim a, Dim b) { return a.same(b); })) {
      return no_value;
    }
    std::iter_swap(wanted.end() - 1, wanted.end() - 2);
    return std::equal(wanted.begin(), wanted.end(), to.dims->begin(),
                      [](Dim a, Dim b) { return a.same(b); })
               ? rows
               : no_value;
  }

  // Whether `split` is `type` with its first dim as two, all of them known.
  static bool splits_first(const Type& type, const Type& split) {
    return type.shape() && split.shape() && type.rank() >= 3 && type.rank() + 1 == split.rank() &&
           std::equal(type.dims->begin() + 1, type.dims->end(), split.dims->begin() + 2,
                      [](Dim a, Dim b) { return a.same(b); });
  }

  // An operand with its first dim as that of `scores`.
  ValueId split(ValueId value, const Dims& scores, std::vector<Node>& before) const {
    const Dims& own = *(*graph_)[value].type.dims;
    Dims dims{scores[0], scores[1]};
    dims.insert(dims.end(), own.begin() + 1, own.end());
    return reshape_.view(value, dims, before);
  }

  Graph* graph_;
  const Uses* uses_;
  const OpDef* attention_;
  Reshaper reshape_;
};

bool is_product(const Node& node) { return node.op->name == "MatMul" && node.op->domain.empty(); }

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const bool recognized =
      fuse_inserting(graph, [&](Node& node, const Uses& uses, std::vector<Node>& before) {
        return is_product(node) && Recognizer(graph, *context.catalogue, uses)(node, before);
      });
  const bool read = read_attention_operators(graph, context);
  const bool turned = put_samples_first(graph, context);
  const bool interleaved = interleave_heads(graph, context);
  if (interleaved || turned) pack_operands(graph, context);
  return interleaved || turned || read || recognized;
}

}  // namespace

const Pass recognize_attention{"recognize_attention", run};

}  // namespace ondine::graph
