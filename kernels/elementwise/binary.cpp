#include "kernels/elementwise/binary.h"

#include <algorithm>

namespace ondine::kernels::ops {
namespace {

bool limited(const NodeView& node) { return node.version() < 7; }

// The number of axes of the first operand after those that the second one is aligned with.
std::size_t trailing(const NodeView& node, std::size_t a_rank, std::size_t b_rank) {
  if (b_rank > a_rank) {
    fail(ErrorCode::mismatch, "operand of rank ", b_rank, " does not broadcast to rank ", a_rank);
  }
  if (!node.has_attr("axis")) return 0;
  const std::size_t axis =
      a_rank == 0 ? 0 : NodeView::normalize_axis(node.attr_int("axis", 0), a_rank);
  if (axis + b_rank > a_rank) {
    fail(ErrorCode::mismatch, "operand of rank ", b_rank, " at axis ", axis,
         " does not fit into rank ", a_rank);
  }
  return a_rank - axis - b_rank;
}

// Whether b has one element. Nothing else fits where it has more axes than a.
bool is_one(const Dims& a, const Dims& b) {
  const auto may_be_one = [](Dim dim) { return !dim.known() || dim.same(1); };
  return product(b).same(1) || (b.size() > a.size() && std::ranges::all_of(b, may_be_one));
}

}  // namespace

Dims aligned_dims(const NodeView& node, const Dims& a, const Dims& b) {
  if (!limited(node)) return b;
  if (node.attr_int("broadcast", 0) == 0) {
    const bool same_rank = a.size() == b.size();
    for (std::size_t i = 0; same_rank && i < a.size(); ++i) unify(a[i], b[i], "dims");
    if (!same_rank) {
      fail(ErrorCode::mismatch, "shapes ", to_string(a), " and ", to_string(b),
           " differ and attribute \"broadcast\" is not 1");
    }
    return b;
  }
  if (is_one(a, b)) return b;
  Dims out = b;
  out.insert(out.end(), trailing(node, a.size(), b.size()), Dim(1));
  return out;
}

Shape aligned_shape(const NodeView& node, const Shape& a, const Shape& b) {
  return *to_shape(aligned_dims(node, to_dims(a), to_dims(b)));
}

std::optional<Dims> binary_dims(const InferContext& context) {
  if (!limited(context)) return broadcast_inputs(context);
  if (!context.ranked(0)) return std::nullopt;
  const Dims& a = context.dims(0);
  if (!context.ranked(1)) return a;
  const Dims b = aligned_dims(context, a, context.dims(1));
  if (b.size() <= a.size()) {
    const Dims both = broadcast(a, b);
    for (std::size_t i = 0; i < a.size(); ++i) unify(a[i], both[i], "dims");
  }
  return a;
}

void infer_binary(InferContext& context) {
  if (context.dtype(0) != context.dtype(1)) {
    context.reject("inputs 0 and 1 differ in dtype: ", context.dtype(0), " and ", context.dtype(1));
  }
  context.set_output(0, context.dtype(0), binary_dims(context));
}

void infer_comparison(InferContext& context) {
  infer_binary(context);
  context.set_output(0, DType::boolean, binary_dims(context));
}

Kernel bind_binary(const BindContext& context, RowFunction row) {
  Elementwise what;
  what.row = row;
  what.out = *context.output_shape(0);
  for (std::size_t i = 0; i < 2; ++i) {
    const DType dtype = context.dtype(i);
    const bool widened = compute_dtype(dtype) != dtype;
    const Shape laid = i == 0 || !limited(context)
                           ? context.shape(i)
                           : aligned_shape(context, what.out, context.shape(1));
    what.operands.push_back({i, laid, widened ? row_to_float(dtype) : nullptr});
  }
  const DType out = context.output_dtype(0);
  if (compute_dtype(out) != out) what.narrow = row_from_float(out);
  return elementwise(context, what);
}

Val aligned(const GradContext& g) {
  const Val a = g.x(0);
  const Val b = g.x(1);
  if (!limited(g) || !a.ranked() || !b.ranked()) return b;
  if (b.rank() > a.rank()) return graph::reshape(b, std::vector<std::int64_t>{});
  if (is_one(a.dims(), b.dims())) return b;
  const std::size_t count = trailing(g, a.rank(), b.rank());
  if (count == 0) return b;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(b.rank() + i));
  return graph::unsqueeze(b, axes);
}

std::vector<Val> reduce_to_inputs(const GradContext& g, Val da, Val db) {
  if (da) da = graph::sum_to(da, g.x(0));
  if (db) {
    const Val laid = aligned(g);
    db = graph::sum_to(db, laid);
    if (laid.id() != g.x(1).id()) db = reshape_like(db, g.x(1));
  }
  return {da, db};
}

}  // namespace ondine::kernels::ops
