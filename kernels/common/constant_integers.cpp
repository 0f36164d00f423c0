#include "kernels/common/constant_integers.h"

namespace ondine::kernels::ops {

using namespace ondine::graph;  // NOLINT

namespace {

// Shapes have few dims; longer vectors are data.
bool is_shape_like(const InferContext& context, std::size_t i) {
  const DType dtype = context.dtype(i);
  if ((dtype != DType::int64 && dtype != DType::int32) || !context.ranked(i)) return false;
  const Dims& dims = context.dims(i);
  return dims.empty() || (dims.size() == 1 && dims[0].known() &&
                          dims[0].size() <= static_cast<std::int64_t>(Shape::max_rank));
}

}  // namespace

void combine_known_elements(InferContext& context, std::optional<Dim> (*combine)(Dim, Dim)) {
  if (context.input_count() != 2 || context.dtype(0) != DType::int64) return;
  if (!is_shape_like(context, 0) || !is_shape_like(context, 1)) return;
  const auto a = context.known_dims(0);
  const auto b = context.known_dims(1);
  if (!a || !b || a->empty() || b->empty()) return;
  Dims out;
  for (std::size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
    const auto element = combine((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!element) return;
    out.push_back(*element);
  }
  context.set_known_dims(0, std::move(out));
}

void copy_known_elements(InferContext& context) {
  if (!is_shape_like(context, 0)) return;
  if (auto known = context.known_dims(0)) context.set_known_dims(0, std::move(*known));
}

}  // namespace ondine::kernels::ops
