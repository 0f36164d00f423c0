// flatten.cpp — y = x as a matrix [dims before axis, the rest];  dx = dy in x's shape.
// Version 11 allows a negative axis.
#include "kernels/common/reshape_kernel.h"

namespace ondine::kernels::ops {
namespace {

// In [0, rank]: all axes may be before the split.
std::size_t split_axis(const NodeView& node, std::size_t rank) {
  const std::int64_t axis = node.attr_int("axis", 1);
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis > n) {
    fail(ErrorCode::mismatch, "axis ", axis, " is outside [", -n, ", ", n, "] for rank ", n);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

void infer(InferContext& context) {
  if (!context.ranked(0)) return set_reshaped_output(context, Dims(2));
  const Dims& dims = context.dims(0);
  const std::span<const Dim> all(dims);
  const std::size_t axis = split_axis(context, dims.size());
  set_reshaped_output(context, Dims{product(all.first(axis)), product(all.subspan(axis))});
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const std::size_t axis = split_axis(context, x.rank());
  const Shape y{x.size(0, axis), x.size(axis, x.rank())};
  return bind_reshape(context, {}, [y](auto) { return y; });
}

}  // namespace

extern const OpDef flatten{.name = "Flatten",
                           .infer = infer,
                           .bind = bind,
                           .grad = reshape_gradient,
                           .traits = reshape_traits};

}  // namespace ondine::kernels::ops
