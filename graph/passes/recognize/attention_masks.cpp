#include "graph/passes/recognize/attention_masks.h"

#include <algorithm>

#include "graph/contract/clipped_dim.h"
#include "graph/contract/infer.h"
#include "graph/passes/recognize/attention_heads.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t add_version = 14;

// How many of the last dims of a mask fit wherever the scores have as many keys as v: the keys,
// and the queries where these are as many and the mask is a square.
std::ptrdiff_t decided_dims(const Dims& mask, const Dims& scores) {
  const std::size_t n = mask.size();
  if (n < 2) return static_cast<std::ptrdiff_t>(n);
  const bool square = mask[n - 1].same(mask[n - 2]) && !mask[n - 1].same(1) &&
                      scores.back().same(scores[scores.size() - 2]);
  return square ? 2 : 1;
}

}  // namespace

std::optional<std::size_t> filled_input(const Node& choice, const Uses& uses) {
  std::optional<std::size_t> found;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const auto number = uses.number(choice.inputs[i]);
    if (!number) continue;
    if (found || *number == 0) return std::nullopt;
    found = i;
  }
  return found;
}

// Whether the mask broadcasts to the scores.
bool MaskReader::fits(ValueId mask, DType dtype) const {
  const Type& m = graph_[mask].type;
  if (!m.ranked() || m.dtype != dtype || m.dims->size() > scores_.size()) return false;
  const std::ptrdiff_t decided = known_keys_ ? decided_dims(*m.dims, scores_) : 0;
  return std::equal(
      m.dims->rbegin() + decided, m.dims->rend(), scores_.rbegin() + decided, [](Dim p, Dim q) {
        return p.same(1) || p.same(q) || broadcasts_only_whole(p, q) || broadcasts_only_whole(q, p);
      });
}

// Whether a mask is as large as the scores.
bool MaskReader::covers(const Dims& mask) const {
  if (mask.size() != scores_.size()) return false;
  return std::equal(mask.begin(), mask.end(), scores_.begin(),
                    [](Dim p, Dim q) { return !p.same(1) || q.same(1); });
}

// Mask before its Expand, which broadcasts to the scores by itself.
ValueId MaskReader::without_expand(ValueId mask) const {
  while (!uses_.is_named(mask)) {
    const Node* expand = uses_.producer(mask, "Expand");
    if (expand == nullptr || !fits(expand->inputs[0], dtype_)) break;
    mask = expand->inputs[0];
  }
  return mask;
}

ValueId MaskReader::sum_of(ValueId a, ValueId b, std::vector<Node>& before) const {
  return append_node(graph_, before, *catalogue_.find("", "Add"), add_version, {a, b});
}

// The `number`-th input of a Where where it is chosen, 0 elsewhere.
ValueId MaskReader::fill_of(const Node& choice, std::size_t number,
                            std::vector<Node>& before) const {
  std::vector<ValueId> inputs = choice.inputs;
  inputs[3 - number] =
      add_constant(graph_, dtype_ == DType::float32 ? Tensor::scalar(0.0F) : Tensor::scalar(0.0));
  return append_node(graph_, before, *choice.op, choice.version, std::move(inputs));
}

// The terms of a sum, neither of which is as large as the scores.
std::optional<MaskOperands> MaskReader::parts_of_sum(ValueId mask) const {
  const Node* sum = uses_.is_named(mask) ? nullptr : uses_.producer(mask, "Add");
  if (sum == nullptr) return std::nullopt;
  const ValueId a = without_expand(sum->inputs[0]);
  const ValueId b = without_expand(sum->inputs[1]);
  for (const ValueId term : {a, b}) {
    if (!fits(term, dtype_) || covers(term)) return std::nullopt;
  }
  return MaskOperands{a, b, {}};
}

// A mask in which a number stands where a condition holds, and that number where it does.
std::optional<MaskOperands> MaskReader::parts_of_choice(ValueId mask,
                                                        std::vector<Node>& before) const {
  const Node* choice = uses_.is_named(mask) ? nullptr : uses_.producer(mask, "Where");
  const auto number = choice != nullptr ? filled_input(*choice, uses_) : std::nullopt;
  if (!number) return std::nullopt;
  const ValueId condition = choice->inputs[0];
  const ValueId other = without_expand(choice->inputs[3 - *number]);
  if (!fits(other, dtype_) || !fits(condition, DType::boolean)) return std::nullopt;
  if (covers(other) || covers(condition)) return std::nullopt;
  return MaskOperands{other, fill_of(*choice, *number, before), "mask"};
}

std::optional<MaskOperands> MaskReader::read(std::vector<ValueId> terms, const Node* fill,
                                             bool outside, std::vector<Node>& before) const {
  for (ValueId& term : terms) {
    term = without_expand(term);
    if (!fits(term, dtype_)) return std::nullopt;
  }
  MaskOperands result;
  if (fill != nullptr) {
    const auto number = filled_input(*fill, uses_);
    if (!number || !fits(fill->inputs[0], DType::boolean)) return std::nullopt;
    result.more = fill_of(*fill, *number, before);
    result.replaces = outside && !terms.empty() ? "both" : "products";
  }
  if (terms.empty()) return result;
  if (terms.size() == 2) {
    const Dims sum = broadcast(*graph_[terms[0]].type.dims, *graph_[terms[1]].type.dims);
    const bool apart = covers(sum) && !covers(terms[0]) && !covers(terms[1]);
    if (apart && fill == nullptr) return MaskOperands{terms[0], terms[1], {}};
    result.mask = sum_of(terms[1], terms[0], before);
    return result;
  }
  result.mask = terms[0];
  if (fill != nullptr || !covers(terms[0])) return result;
  if (const auto parts = parts_of_sum(terms[0])) return parts;
  if (const auto parts = parts_of_choice(terms[0], before)) return parts;
  return result;
}

}  // namespace ondine::graph
