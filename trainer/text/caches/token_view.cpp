#include <algorithm>

#include "core/to_doubles.h"
#include "trainer/text/caches/token_rules.h"

namespace ondine::text {

using namespace graph;  // NOLINT

TokenView::TokenView(const Graph& graph, Graph first, Graph second, std::int64_t first_size,
                     std::int64_t second_size)
    : first_length(first_size),
      second_length(second_size),
      graph_(&graph),
      first_(std::move(first)),
      second_(std::move(second)),
      known_(graph.values.size()) {}

const TokenAxes* TokenView::tokens(ValueId id) const {
  return known(id).tokens ? &*known(id).tokens : nullptr;
}
bool TokenView::is_length(ValueId id) const { return known(id).is_length; }
bool TokenView::is_of_new_tokens(ValueId id) const {
  return !known(id).tokens && (!known(id).is_length || known(id).of_new_tokens);
}
void TokenView::set_tokens(ValueId id, const TokenAxes& axes) { known(id).tokens = axes; }
void TokenView::set_length(ValueId id, bool of_new_tokens) {
  known(id).is_length = true;
  known(id).of_new_tokens = of_new_tokens;
}

void TokenView::set_text(ValueId id) {
  known(id).is_text = true;
  set_length(id, false);
}
bool TokenView::is_text(ValueId id) const { return known(id).is_text; }

std::optional<Shape> TokenView::shape(ValueId id) const { return first_[id].type.shape(); }
std::optional<Shape> TokenView::second_shape(ValueId id) const { return second_[id].type.shape(); }

std::optional<std::vector<std::size_t>> TokenView::varying(ValueId id) const {
  const auto a = shape(id);
  const auto b = second_shape(id);
  if (!a || !b || a->rank() != b->rank()) return std::nullopt;
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < a->rank(); ++axis) {
    if ((*a)[axis] == (*b)[axis]) continue;
    if ((*a)[axis] != first_length || (*b)[axis] != second_length) return std::nullopt;
    axes.push_back(axis);
  }
  return axes;
}

std::optional<std::vector<std::int64_t>> TokenView::integers(ValueId id) const {
  const Tensor& a = first_[id].constant;
  const Tensor& b = second_[id].constant;
  if (!a.defined() || !b.defined() || !a.identical(b)) return std::nullopt;
  std::vector<std::int64_t> values;
  if (a.dtype() == DType::int64) {
    const auto all = a.values<std::int64_t>();
    values.assign(all.begin(), all.end());
  } else if (a.dtype() == DType::int32) {
    const auto all = a.values<std::int32_t>();
    values.assign(all.begin(), all.end());
  } else {
    return std::nullopt;
  }
  return values;
}

std::optional<double> TokenView::number(ValueId id) const {
  const Tensor& tensor = first_[id].constant;
  if (is_length(id) || !tensor.defined() || tensor.size() != 1) return std::nullopt;
  const ReadElement read = element_reader(tensor.dtype());
  return read == nullptr ? std::nullopt : std::optional(read(tensor.data(), 0));
}

}  // namespace ondine::text
