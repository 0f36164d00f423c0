// Rotary position embeddings as exporters write them become RotatePairs, whose derivative is the
// opposite rotation and keeps nothing but the tables:
// - x cos + r(x) sin, where r(x) is (-b, a) of the pairs (a, b) of x, which are of its two halves
//   or adjacent;
// - (a cos - b sin, b cos + a sin) of the two halves.
#include <map>
#include <utility>

#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

// Half of a value.
struct Half {
  ValueId whole = no_value;
  bool second = false;
  bool interleaved = false;

  bool pairs_with(const Half& other) const {
    return whole != no_value && whole == other.whole && interleaved == other.interleaved &&
           !second && other.second;
  }
};

class Recognizer {
 public:
  Recognizer(const Graph& graph, const OpDef* rotate, const Uses& uses)
      : graph_(&graph), uses_(&uses), rotate_(rotate) {
    for (const Node& node : graph.nodes) {
      for (std::size_t i = 1; i < node.outputs.size(); ++i) {
        if (node.op->name == "Split" && node.op->domain.empty() && node.outputs.size() == 2) {
          splits_.emplace(node.outputs[i], &node);
        }
      }
    }
  }

  bool operator()(Node& node) const {
    if (!node.op->domain.empty() || node.outputs.size() != 1) return false;
    if (!is_full_float(*graph_, node.outputs[0])) return false;
    if (node.op->name == "Concat") return rotates_halves(node);
    if (node.op->name != "Add") return false;
    return rotates(node, node.inputs[0], node.inputs[1]) ||
           rotates(node, node.inputs[1], node.inputs[0]);
  }

 private:
  std::optional<std::int64_t> width_of(ValueId id) const {
    const Type& type = (*graph_)[id].type;
    if (!type.ranked() || type.rank() == 0 || !type.dims->back().known()) return std::nullopt;
    return type.dims->back().size();
  }
  bool is_last_axis(const NodeView& node, std::int64_t otherwise, ValueId of) const {
    const Type& type = (*graph_)[of].type;
    const std::int64_t axis = node.attr_int("axis", otherwise);
    return type.ranked() && (axis == -1 || axis + 1 == static_cast<std::int64_t>(type.rank()));
  }

  Half half_of(ValueId id) const {
    const auto found = splits_.find(id);
    const Node* split = found != splits_.end() ? found->second : uses_->producer(id, "Split");
    if (split != nullptr) {
      const ValueId whole = split->inputs[0];
      const auto width = width_of(whole);
      const auto own = width_of(id);
      if (split->outputs.size() != 2 || !is_last_axis(NodeView(*split), 0, whole) || !width ||
          !own || *own * 2 != *width) {
        return {};
      }
      return {whole, split->outputs[1] == id, false};
    }
    return every_second(id);
  }
  // x[..., start::2]
  Half every_second(ValueId id) const {
    const Node* const slice = uses_->producer(id, "Slice");
    if (slice == nullptr || slice->inputs.size() != 5) return {};
    const ValueId whole = slice->inputs[0];
    const auto width = width_of(whole);
    std::int64_t values[4];
    for (std::size_t i = 0; i < 4; ++i) {
      const auto list = uses_->integers(slice->inputs[i + 1]);
      if (!list || list->size() != 1) return {};
      values[i] = list->front();
    }
    const auto [start, end, axis, step] = values;
    if (!width || *width % 2 != 0 || step != 2 || (start != 0 && start != 1) || end < *width) {
      return {};
    }
    const auto rank = static_cast<std::int64_t>((*graph_)[whole].type.rank());
    if (axis != -1 && axis + 1 != rank) return {};
    return {whole, start == 1, true};
  }

  // A value that one node reads and no Gradient names.
  bool is_between(ValueId id, int readers = 1) const {
    return uses_->readers(id) == readers && !uses_->is_named(id);
  }

  // The Unsqueeze of the last axis but one of a stack, looked through.
  ValueId unstacked(ValueId id) const {
    const Node* const unsqueeze = uses_->producer_for(id, 1, "Unsqueeze");
    if (unsqueeze == nullptr || unsqueeze->inputs.size() != 2) return no_value;
    const auto axes = uses_->integers(unsqueeze->inputs[1]);
    const Type& type = (*graph_)[id].type;
    if (!axes || axes->size() != 1 || !type.ranked()) return no_value;
    const auto last = static_cast<std::int64_t>(type.rank()) - 1;
    return axes->front() == -1 || axes->front() == last ? unsqueeze->inputs[0] : no_value;
  }

  // The stack that a Reshape joins the last two axes of, whose shape may be computed from its own.
  const Node* stack_before(const Node& flat) const {
    const Node* const one = uses_->producer_for(flat.inputs[0], 1, "Concat");
    return one != nullptr ? one : uses_->producer_for(flat.inputs[0], 2, "Concat");
  }

  // The x of which the value is r(x).
  std::optional<Half> crossed(ValueId id) const {
    const Node* concat = uses_->producer_for(id, 1, "Concat");
    const Node* const flat = uses_->producer_for(id, 1, "Reshape");
    const bool stacked = flat != nullptr;
    if (stacked) concat = stack_before(*flat);
    if (concat == nullptr || concat->inputs.size() != 2) return std::nullopt;
    if (!is_last_axis(NodeView(*concat), 0, concat->outputs[0])) return std::nullopt;
    ValueId negative = concat->inputs[0];
    ValueId first = concat->inputs[1];
    if (stacked) {
      negative = unstacked(negative);
      first = unstacked(first);
    }
    const Node* const neg =
        negative == no_value ? nullptr : uses_->producer_for(negative, 1, "Neg");
    if (neg == nullptr || first == no_value) return std::nullopt;
    if (!is_between(first) || !is_between(neg->inputs[0])) return std::nullopt;
    const Half a = half_of(first);
    if (!a.pairs_with(half_of(neg->inputs[0])) || a.interleaved != stacked) return std::nullopt;
    return same_tensor_type(*graph_, id, a.whole) ? std::optional(a) : std::nullopt;
  }

  // Whether a table has `numbers` in a row, and its other dims broadcast to those of x.
  bool is_table(ValueId table, ValueId x, std::int64_t numbers) const {
    const Type& type = (*graph_)[table].type;
    const Type& whole = (*graph_)[x].type;
    if (!type.ranked() || type.rank() == 0 || type.rank() > whole.rank()) return false;
    if (type.dtype != whole.dtype || width_of(table) != numbers) return false;
    const std::size_t skipped = whole.rank() - type.rank();
    for (std::size_t i = 0; i + 1 < type.rank(); ++i) {
      const Dim dim = (*type.dims)[i];
      if (!dim.same(Dim(1)) && !dim.same((*whole.dims)[skipped + i])) return false;
    }
    return true;
  }

  bool become(Node& node, const Half& x, ValueId cos, ValueId sin, bool per_pair) const {
    const auto width = width_of(x.whole);
    if (!width || !same_tensor_type(*graph_, x.whole, node.outputs[0])) return false;
    const std::int64_t numbers = per_pair ? *width / 2 : *width;
    if (!is_table(cos, x.whole, numbers) || !is_table(sin, x.whole, numbers)) return false;
    node.op = rotate_;
    node.version = 1;
    node.inputs = {x.whole, cos, sin};
    node.attributes = {{"interleaved", std::int64_t{x.interleaved}},
                       {"per_pair", std::int64_t{per_pair}}};
    return true;
  }

  // The factor beside `id` in a product; no_value where it is none.
  static ValueId beside(const Node* product, ValueId id) {
    if (product == nullptr) return no_value;
    if (product->inputs[0] == id) return product->inputs[1];
    return product->inputs[1] == id ? product->inputs[0] : no_value;
  }

  // x cos + r(x) sin
  bool rotates(Node& node, ValueId plain, ValueId turned) const {
    const Node* const product = uses_->producer_for(turned, 1, "Mul");
    if (product == nullptr) return false;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const auto x = crossed(product->inputs[i]);
      if (!x) continue;
      const ValueId cos = beside(uses_->producer_for(plain, 1, "Mul"), x->whole);
      return cos != no_value && become(node, *x, cos, product->inputs[1 - i], false);
    }
    return false;
  }

  // Products of the halves of one value: which half, and by what.
  struct Term {
    Half half;
    ValueId id = no_value;
    ValueId factor = no_value;
  };
  Term term_of(ValueId id) const {
    const Node* const product = uses_->producer_for(id, 1, "Mul");
    if (product == nullptr) return {};
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const ValueId one = product->inputs[i];
      if (!is_between(one, 2)) continue;
      const Half half = half_of(one);
      if (half.whole != no_value) return {half, one, product->inputs[1 - i]};
    }
    return {};
  }

  // (a cos - b sin, b cos + a sin)
  bool rotates_halves(Node& node) const {
    if (node.inputs.size() != 2 || !is_last_axis(NodeView(node), 0, node.outputs[0])) return false;
    const Node* const difference = uses_->producer_for(node.inputs[0], 1, "Sub");
    const Node* const sum = uses_->producer_for(node.inputs[1], 1, "Add");
    if (difference == nullptr || sum == nullptr) return false;
    const Term a_cos = term_of(difference->inputs[0]);
    const Term b_sin = term_of(difference->inputs[1]);
    if (!a_cos.half.pairs_with(b_sin.half) || a_cos.half.interleaved) return false;
    Term b_cos = term_of(sum->inputs[0]);
    Term a_sin = term_of(sum->inputs[1]);
    if (b_cos.id != b_sin.id) std::swap(b_cos, a_sin);
    const bool fits = b_cos.id == b_sin.id && a_sin.id == a_cos.id &&
                      b_cos.factor == a_cos.factor && a_sin.factor == b_sin.factor;
    return fits && become(node, a_cos.half, a_cos.factor, b_sin.factor, true);
  }

  const Graph* graph_;
  const Uses* uses_;
  const OpDef* rotate_;
  std::map<ValueId, const Node*> splits_;  // by their second output
};

bool run(Graph& graph, const PassContext& context) {
  if (context.catalogue == nullptr) return false;
  const OpDef* const rotate = context.catalogue->find(ondine_domain, "RotatePairs");
  if (rotate == nullptr) return false;
  const Uses uses(graph);
  const Recognizer recognizer(graph, rotate, uses);
  bool changed = false;
  for (Node& node : graph.nodes) changed = recognizer(node) || changed;
  return changed;
}

}  // namespace

const Pass recognize_rotation{"recognize_rotation", run};

}  // namespace ondine::graph
