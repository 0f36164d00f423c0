// softmax(q k * number + masks) v over the last two dims, and ONNX's Attention, become
// ScaledAttention, and with its transposed operands and result one of interleaved heads, also where
// samples and rows are transposed around it, and then PackedAttention where it reads the parts of
// one product. Two masks are added to each other first, unless their sum is as large as the scores
// and they are not (attention_masks.h). Masks may be added, and the softmax taken, where the first
// dim of the scores is seen as two, as samples and heads or as samples and shifted windows. A Where
// of the product and a number is a mask, too. number tanh(q k * number) is a cap of scores.
#include <algorithm>
#include <utility>

#include "graph/contract/infer.h"
#include "graph/passes/fuse.h"
#include "graph/passes/recognize/attention_heads.h"
#include "graph/passes/recognize/attention_masks.h"
#include "graph/passes/recognize/attention_operator.h"
#include "graph/passes/recognize/packed_attention.h"
#include "graph/passes/recognize/shared_keys.h"
#include "graph/passes/samples_first.h"

namespace ondine::graph {
namespace {

struct Factor {
  ValueId value;
  double number;
};

// Nodes between the weights and the product of q and k.
struct Way {
  ValueId v = no_value;
  bool zero_rows = false;  // whether the weights of rows without keys are 0
  // Dims of the scores where their first dim is seen as two; empty where it nowhere is.
  Dims split;
  bool merged = false;         // whether this place is nearer to the product than that
  std::vector<ValueId> masks;  // terms that are added, the last of them first
  const Node* fill = nullptr;  // puts a number in the place of products
  bool outside = false;        // whether it does so after masks are added
  const Node* view = nullptr;  // the Reshape by which the first dim is seen as two

  Way with(ValueId mask) const {
    Way more = *this;
    more.masks.push_back(mask);
    return more;
  }
};

class Recognizer {
 public:
  Recognizer(Graph& graph, const Catalogue& catalogue, const Uses& uses,
             const std::vector<int>& shape_readers)
      : graph_(&graph),
        shape_readers_(&shape_readers),
        catalogue_(&catalogue),
        uses_(&uses),
        attention_(catalogue.find(ondine_domain, "ScaledAttention")),
        reshape_(graph, catalogue) {}

  // A MatMul of the weights and the values, or a Reshape that splits the first dim of one.
  bool operator()(Node& node, std::vector<Node>& before) const {
    if (attention_ == nullptr || !reshape_ || !is_full_float(*graph_, node.outputs[0])) {
      return false;
    }
    const bool fused =
        node.op->name == "MatMul" ? fuse_weights(node, before) : fuse_split(node, before);
    if (!fused) before.clear();
    return fused;
  }

 private:
  const Type& type_of(ValueId id) const { return (*graph_)[id].type; }

  // The producer of a value with so many readers beside those of its shape.
  const Node* sole(ValueId id, std::string_view op, int readers = 1) const {
    const auto index = static_cast<std::size_t>(id);
    const int of_shape = index < shape_readers_->size() ? (*shape_readers_)[index] : 0;
    return uses_->producer_for(id, readers + of_shape, op);
  }

  // The scores of weights over the last dim, and whether these are guarded.
  std::optional<std::pair<ValueId, bool>> scores_of(ValueId used) const {
    const ValueId guarded = without_guard(used);
    const Node* weights = sole(guarded, "Softmax", guarded == used ? 1 : 2);
    if (weights == nullptr || !over_last(*weights)) return std::nullopt;
    return std::pair(weights->inputs[0], guarded != used);
  }

  bool fuse_weights(Node& node, std::vector<Node>& before) const {
    const auto scores = scores_of(node.inputs[0]);
    if (!scores) return false;
    Way way;
    way.v = node.inputs[1];
    way.zero_rows = scores->second;
    return fuse(node, scores->first, way, before) || fuse_windows(node, scores->first, way, before);
  }

  // Weights and result of which the first dim is seen as two.
  bool fuse_split(Node& node, std::vector<Node>& before) const {
    const Node* product = sole(node.inputs[0], "MatMul");
    const Node* view = product != nullptr ? sole(product->inputs[0], "Reshape") : nullptr;
    const auto scores = view != nullptr ? scores_of(view->inputs[0]) : std::nullopt;
    if (!scores) return false;
    const Type& weights = type_of(view->inputs[0]);
    const Type& result = type_of(node.outputs[0]);
    if (!splits_first(type_of(product->inputs[0]), weights) ||
        !splits_first(type_of(node.inputs[0]), result) ||
        !(*weights.dims)[0].same((*result.dims)[0])) {
      return false;
    }
    Way way;
    way.v = product->inputs[1];
    way.zero_rows = scores->second;
    way.split = *weights.dims;
    return fuse(node, scores->first, way, before);
  }

  // The p of Where(IsNaN(p), 0, p), or `weights`. PyTorch writes so that queries without keys give
  // 0. (Weights of scores that are not finite, which it hides, stay NaN.)
  ValueId without_guard(ValueId weights) const {
    const Node* choice = sole(weights, "Where");
    if (choice == nullptr || uses_->number(choice->inputs[1]) != 0.0) return weights;
    const Node* test = sole(choice->inputs[0], "IsNaN");
    const bool same = test != nullptr && test->inputs[0] == choice->inputs[2];
    return same && same_rank(weights, choice->inputs[2]) ? choice->inputs[2] : weights;
  }
  bool same_rank(ValueId a, ValueId b) const {
    const Type& x = (*graph_)[a].type;
    const Type& y = (*graph_)[b].type;
    return x.ranked() && y.ranked() && x.rank() == y.rank();
  }

  // Scores that were seen with their first dim as two when a mask was added.
  bool fuse_windows(Node& node, ValueId scores, const Way& way, std::vector<Node>& before) const {
    const Node* back = sole(scores, "Reshape");
    if (back == nullptr || !splits_first(type_of(scores), type_of(back->inputs[0]))) return false;
    // The result is merged again.
    if (!type_of(node.outputs[0]).shape()) return false;
    Way split = way;
    split.split = *type_of(back->inputs[0]).dims;
    return fuse(node, back->inputs[0], split, before);
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
      const Node* node = sole(result.value, "Mul");
      std::size_t of = 0;
      std::optional<double> by;
      if (node != nullptr) {
        of = uses_->number(node->inputs[1]) ? 0 : 1;
        by = uses_->number(node->inputs[1 - of]);
      } else if ((node = sole(result.value, "Div")) != nullptr) {
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

  // As fuse_product, or with what changes the product first.
  bool fuse(Node& node, ValueId scores, const Way& way, std::vector<Node>& before) const {
    if (fuse_product(node, scores, way, before)) return true;
    if (!way.split.empty() && !way.merged) {
      const Node* view = sole(scores, "Reshape");
      if (view != nullptr && splits_first(type_of(view->inputs[0]), type_of(scores))) {
        Way merged = way;
        merged.merged = true;
        merged.view = view;
        return fuse(node, view->inputs[0], merged, before);
      }
    }
    if (const Node* choice = way.fill == nullptr ? sole(scores, "Where") : nullptr) {
      const auto number = filled_input(*choice, *uses_);
      Way filled = way;
      filled.fill = choice;
      filled.outside = way.masks.empty();
      return number && fuse(node, choice->inputs[3 - *number], filled, before);
    }
    if (way.fill != nullptr && !way.outside) return false;
    const Node* sum = way.masks.size() < 2 ? sole(scores, "Add") : nullptr;
    if (sum == nullptr) return false;
    for (const std::size_t side : {std::size_t{1}, std::size_t{0}}) {
      const ValueId mask = in_split(sum->inputs[side], way, before);
      if (mask != no_value && fuse(node, sum->inputs[1 - side], way.with(mask), before)) {
        return true;
      }
    }
    return false;
  }

  bool fuse_product(Node& node, ValueId scores, const Way& way, std::vector<Node>& before) const {
    Factor outer = factor(scores);
    const double cap = outer.number;
    const Node* curve = sole(outer.value, "Tanh");
    if (curve != nullptr) {
      outer = factor(curve->inputs[0]);
      outer.number *= cap;
    }
    const Node* product = sole(outer.value, "MatMul");
    if (product == nullptr || (curve != nullptr && cap <= 0)) return false;
    const Type& type = type_of(outer.value);
    if (!type.ranked() ||
        (!way.split.empty() && !splits_first(type, Type::tensor(type.dtype, way.split)))) {
      return false;
    }
    const Dims dims = way.split.empty() ? *type.dims : way.split;
    if (!same_outer(product->inputs[0], product->inputs[1]) ||
        !same_outer(product->inputs[0], way.v)) {
      return false;
    }
    const Dims& values = *type_of(way.v).dims;
    const bool known_keys = dims.back().same(values[values.size() - 2]);
    const auto masks = MaskReader(*graph_, *catalogue_, *uses_, type, dims, known_keys)
                           .read(way.masks, way.fill, way.outside, before);
    if (!masks) return false;
    const Factor q = factor(product->inputs[0]);
    Factor k = factor(product->inputs[1]);
    double scale = outer.number * q.number * k.number;
    const ValueId rows = rows_of(k.value);
    if (rows != no_value) {
      k = factor(rows);
      scale *= k.number;
    }
    std::vector<ValueId> inputs{q.value, k.value, way.v};
    for (ValueId& input : inputs) {
      input = way.split.empty() ? input : split(input, dims, before);
      if (input == no_value) return false;
    }
    const bool masked = masks->mask != no_value || masks->more != no_value;
    Attributes attributes{{"scale", static_cast<float>(scale)},
                          {"transK", std::int64_t{rows == no_value}},
                          {"zero_rows", std::int64_t{way.zero_rows && masked}}};
    if (curve != nullptr) attributes.emplace_back("softcap", static_cast<float>(cap));
    if (!masks->replaces.empty()) attributes.emplace_back("replaces", masks->replaces);
    if (masked) inputs.push_back(masks->mask);
    if (masks->more != no_value) inputs.push_back(masks->more);
    replace(node, way, std::move(inputs), std::move(attributes), before);
    return true;
  }

  // Makes the node the attention, or a view of it that merges the first two dims again.
  void replace(Node& node, const Way& way, std::vector<ValueId> inputs, Attributes attributes,
               std::vector<Node>& before) const {
    const Type& result = type_of(node.outputs[0]);
    if (!way.split.empty() && result.rank() < way.split.size()) {
      reshape_.make_view(node, append_node(*graph_, before, *attention_, 1, std::move(inputs),
                                           std::move(attributes)));
      return;
    }
    node.inputs = std::move(inputs);
    node.op = attention_;
    node.version = 1;
    node.attributes = std::move(attributes);
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

  // Whether `split` is `type` with its first dim as two.
  static bool splits_first(const Type& type, const Type& split) {
    return type.ranked() && split.ranked() && type.rank() >= 3 && type.rank() + 1 == split.rank() &&
           multiply((*split.dims)[0], (*split.dims)[1]).same((*type.dims)[0]) &&
           std::equal(type.dims->begin() + 1, type.dims->end(), split.dims->begin() + 2,
                      [](Dim a, Dim b) { return a.same(b); });
  }

  // `value` with its first dim as the first two of `scores`; no_value where no view says so.
  ValueId split(ValueId value, const Dims& scores, std::vector<Node>& before) const {
    const Dims& own = *type_of(value).dims;
    Dims dims{scores[0], scores[1]};
    dims.insert(dims.end(), own.begin() + 1, own.end());
    const Node* merge = producer(value, "Reshape");
    if (merge != nullptr && type_of(merge->inputs[0]).ranked()) {
      const ValueId of = reshape_.view(merge->inputs[0], dims, before);
      if (of != no_value) return of;
    }
    return reshape_.view(value, dims, before);
  }

  // A mask that is added at this place, for scores whose first dim is two.
  ValueId in_split(ValueId mask, const Way& way, std::vector<Node>& before) const {
    const Type& type = type_of(mask);
    if (!way.merged || !type.ranked() || type.rank() + 1 < way.split.size() ||
        (*type.dims)[0].same(1)) {
      return mask;
    }
    if (type.rank() + 1 != way.split.size() ||
        !multiply(way.split[0], way.split[1]).same((*type.dims)[0])) {
      return no_value;
    }
    const ValueId apart = split(without_one(mask), way.split, before);
    if (apart != no_value || !same_tensor_type(*graph_, mask, way.view->inputs[0])) return apart;
    // One as large as the scores is seen in two as these are.
    return append_node(*graph_, before, *way.view->op, way.view->version,
                       {mask, way.view->inputs[1]}, way.view->attributes);
  }
  // Value without a factor of 1, which exporters write.
  ValueId without_one(ValueId value) const {
    const Node* times = producer(value, "Mul");
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (times != nullptr && uses_->number(times->inputs[side]) == 1.0 &&
          same_tensor_type(*graph_, times->inputs[1 - side], value)) {
        return times->inputs[1 - side];
      }
    }
    return value;
  }

  Graph* graph_;
  const std::vector<int>* shape_readers_;
  const Catalogue* catalogue_;
  const Uses* uses_;
  const OpDef* attention_;
  Reshaper reshape_;
};

bool may_be_attention(const Node& node) {
  return node.op->domain.empty() && (node.op->name == "MatMul" || node.op->name == "Reshape");
}

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const std::vector<int> shape_readers = count_shape_readers(graph);
  const bool recognized =
      fuse_inserting(graph, [&](Node& node, const Uses& uses, std::vector<Node>& before) {
        return may_be_attention(node) &&
               Recognizer(graph, *context.catalogue, uses, shape_readers)(node, before);
      });
  const bool read = read_attention_operators(graph, context);
  const bool shared = share_keys(graph);
  const bool turned = put_samples_first(graph, context);
  const bool interleaved = interleave_heads(graph, context);
  if (interleaved || turned) pack_operands(graph, context);
  return interleaved || turned || shared || read || recognized;
}

}  // namespace

const Pass recognize_attention{"recognize_attention", run};

}  // namespace ondine::graph
