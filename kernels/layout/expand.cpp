// expand.cpp — y = x broadcast with the given shape (both ways, as in element-wise operators);
// dx = dy summed back to x's shape.
#include "kernels/common/copy_kernel.h"

namespace ondine::kernels::ops {
namespace {

Shape broadcast_shape(const Shape& x, std::span<const std::int64_t> target) {
  Dims wanted;
  for (const std::int64_t dim : target) {
    if (dim < 0) fail(ErrorCode::mismatch, "shape element ", dim, " is negative");
    wanted.emplace_back(dim);
  }
  const Dims dims = graph::broadcast(to_dims(x), wanted);
  Shape out;
  for (const Dim dim : dims) out.push_back(dim.size());
  return out;
}

void infer(InferContext& context) {
  const auto target = dims_from_input(context, 1);
  std::optional<Dims> dims;
  if (target && context.ranked(0)) dims = graph::broadcast(context.dims(0), *target);
  context.set_output(0, context.dtype(0), std::move(dims));
}

Kernel bind(BindContext& context) {
  return bind_copy(context, {IntegerParameter(context, 1)},
                   [x = context.shape(0), dtype = context.dtype(0)](CopyParameters parameters) {
                     const Shape y = broadcast_shape(x, parameters[0]);
                     const auto from = row_major(x);
                     const auto to = row_major(y);
                     std::vector<StridedCopy::Axis> axes;
                     for (std::size_t a = 0; a < y.rank(); ++a) {
                       const std::size_t lead = y.rank() - x.rank();
                       const bool repeated = a < lead || x[a - lead] != y[a];
                       axes.push_back({y[a], repeated ? 0 : from[a - lead], to[a]});
                     }
                     return ShapedCopy{y, StridedCopy(dtype, axes)};
                   });
}

std::vector<Val> grad(GradContext& g) { return {sum_to(g.dy(0), g.x(0))}; }

}  // namespace

extern const OpDef expand_op{.name = "Expand",
                             .infer = infer,
                             .bind = bind,
                             .grad = grad,
                             .traits = {.cheap = true},
                             .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
