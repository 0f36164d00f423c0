// unsqueeze.cpp — y = x with axes of size 1 inserted, numbered as in y;  dx = dy in x's shape. Axes
// are an attribute before version 13, then an input; negative ones from version 11.
#include "kernels/common/reshape_kernel.h"

namespace ondine::kernels::ops {
namespace {

// Elements of `source` (a Shape or Dims) with 1 at the axes.
template <class Result, class Source>
Result insert_ones(const Source& source, std::size_t rank, std::span<const std::int64_t> axes) {
  const std::size_t out_rank = rank + axes.size();
  if (out_rank > Shape::max_rank) fail(ErrorCode::limit, "rank ", out_rank, " after unsqueezing");
  std::vector<bool> added(out_rank);
  for (const std::size_t axis : normalize_axes(axes, out_rank)) added[axis] = true;
  Result out;
  for (std::size_t a = 0, next = 0; a < out_rank; ++a) {
    out.push_back(added[a] ? 1 : source[next++]);
  }
  return out;
}

void infer(InferContext& context) {
  const IntegerParameter axes(context, "axes", 13, 1);
  if (!axes.given()) fail(ErrorCode::invalid_model, "input or attribute \"axes\" is missing");
  if (!context.ranked(0)) return set_reshaped_output(context, std::nullopt);
  if (!axes.known()) {
    const auto count = axes.count();
    if (!count || *count > static_cast<std::int64_t>(Shape::max_rank)) {
      return set_reshaped_output(context, std::nullopt);
    }
    return set_reshaped_output(context, Dims(context.rank(0) + static_cast<std::size_t>(*count)));
  }
  set_reshaped_output(context, insert_ones<Dims>(context.dims(0), context.rank(0), axes.values()));
}

Kernel bind(BindContext& context) {
  return bind_reshape(
      context, IntegerParameter(context, "axes", 13, 1),
      [x = context.shape(0)](auto axes) { return insert_ones<Shape>(x, x.rank(), axes); });
}

}  // namespace

extern const OpDef unsqueeze_op{.name = "Unsqueeze",
                                .infer = infer,
                                .bind = bind,
                                .grad = reshape_gradient,
                                .traits = reshape_traits,
                                .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
