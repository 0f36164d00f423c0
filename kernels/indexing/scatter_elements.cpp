// scatter_elements.cpp — y = x with y[i with i[axis] = indices[i]] = updates[i], or combined with
// it by `reduction`;  derivatives: scatter_grad.cpp. Scatter is its name before version 11.
// Version 16 adds the reductions add and mul, 18 max and min.
#include "kernels/indexing/scatter_grad.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  scatter_reduction(context);
  if (context.dtype(2) != context.dtype(0)) {
    context.reject("updates are ", context.dtype(2), ", the data ", context.dtype(0));
  }
  const Type& indices = context.input(1);
  const Type& updates = context.input(2);
  if (indices.ranked() && updates.ranked()) {
    if (indices.rank() != updates.rank()) {
      context.reject("indices of rank ", indices.rank(), " and updates of rank ", updates.rank());
    }
    for (std::size_t a = 0; a < indices.rank(); ++a) {
      unify((*indices.dims)[a], (*updates.dims)[a], "dims of indices and updates");
    }
  }
  context.set_output(0, context.input(0));
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const ElementOffsets offsets =
      ElementOffsets::of_elements(context, 1, x, context.attr_int("axis", 0));
  return scatter_kernel(context.dtype(0), x.size(), offsets, scatter_reduction(context), 0, 2);
}

std::vector<Val> grad(GradContext& g) {
  const std::int64_t axis = g.attr_int("axis", 0);
  const Val indices = g.x(1);
  const auto gather_at = [&](Val x) {
    return g.builder().node("GatherElements", {x, indices}, {{"axis", axis}});
  };
  const auto scatter_at = [&](Val x, Val updates, const std::string& reduction) {
    return g.builder().node("ScatterElements", {x, indices, updates},
                            {{"axis", axis}, {"reduction", reduction}});
  };
  return grad_scatter(g, gather_at, scatter_at);
}

}  // namespace

extern const OpDef scatter{
    .name = "Scatter", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};
extern const OpDef scatter_elements{
    .name = "ScatterElements", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
