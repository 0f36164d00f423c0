// slice_grad.cpp — ai.ondine SliceGrad(part, shape, starts, ends, axes, steps): zeros of `shape`
// with `part` where Slice would read;  d part = Slice(dy, ...).
#include "kernels/common/copy_kernel.h"
#include "kernels/indexing/slice.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  context.set_output(0, context.dtype(0), dims_from_input(context, 1));
}

Kernel bind(BindContext& context) {
  std::vector<IntegerParameter> parameters;
  for (std::size_t i = 1; i < 6; ++i) parameters.emplace_back(context, i);
  return bind_copy(context, parameters,
                   [part = context.shape(0), dtype = context.dtype(0)](CopyParameters given) {
                     const Shape whole(given[0]);
                     const SliceCopy slice(whole, SliceParameters(given.subspan(1)));
                     if (!(slice.part == part)) {
                       fail(ErrorCode::mismatch, "a slice of shape ", slice.part, " gets ", part);
                     }
                     auto axes = slice.axes;
                     for (auto& axis : axes) std::swap(axis.from, axis.to);
                     return ShapedCopy{whole, StridedCopy(dtype, axes, 0, slice.offset)};
                   },
                   {.fill = true});
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("Slice", {g.dy(0), g.x(2), g.x(3), g.x(4), g.x(5)})};
}

}  // namespace

extern const OpDef slice_grad{.name = "SliceGrad",
                              .domain = ondine_domain,
                              .infer = infer,
                              .bind = bind,
                              .grad = grad,
                              .no_gradient = 0b111110};

}  // namespace ondine::kernels::ops
