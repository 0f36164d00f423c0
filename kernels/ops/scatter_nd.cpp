// scatter_nd.cpp — y = x with its slices at the coordinates in the last axis of `indices` replaced
// by, or combined with, slices of updates;  derivatives: scatter_grad.cpp.
// Version 16 adds the reductions add and mul, 18 max and min.
#include "kernels/ops/scatter_grad.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  scatter_reduction(context);
  if (context.dtype(2) != context.dtype(0)) {
    context.reject("updates are ", context.dtype(2), ", the data ", context.dtype(0));
  }
  const auto x = context.input(0).shape();
  const auto indices = context.input(1).shape();
  const auto updates = context.input(2).shape();
  if (x && indices && updates) {
    const bool fits = indices->rank() > 0 && x->rank() > 0 &&
                      indices->back() <= static_cast<std::int64_t>(x->rank());
    Shape want;
    for (std::size_t a = 0; fits && a + 1 < indices->rank(); ++a) want.push_back((*indices)[a]);
    for (auto a = fits ? static_cast<std::size_t>(indices->back()) : x->rank(); a < x->rank();
         ++a) {
      want.push_back((*x)[a]);
    }
    if (!fits || !(want == *updates)) {
      context.reject("updates of shape ", *updates, " for indices ", *indices, " and data ", *x);
    }
  }
  context.set_output(0, context.input(0));
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const Offsets offsets = Offsets::of_slices(context, 1, x, 0);
  return scatter_kernel(context.dtype(0), x.size(), offsets, scatter_reduction(context), 0, 2);
}

std::vector<Val> grad(GradContext& g) {
  const Val indices = g.x(1);
  const auto gather_at = [&](Val x) { return g.builder().node("GatherND", {x, indices}); };
  const auto scatter_at = [&](Val x, Val updates, const std::string& reduction) {
    return g.builder().node("ScatterND", {x, indices, updates}, {{"reduction", reduction}});
  };
  return grad_scatter(g, gather_at, scatter_at);
}

}  // namespace

extern const OpDef scatter_nd{
    .name = "ScatterND", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
