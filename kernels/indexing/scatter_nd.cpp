// scatter_nd.cpp — y = x with its slices at the coordinates in the last axis of `indices` replaced
// by, or combined with, slices of updates;  derivatives: scatter_grad.cpp.
// Version 16 adds the reductions add and mul, 18 max and min.
#include "kernels/indexing/scatter_grad.h"

namespace ondine::kernels::ops {
namespace {

// Updates have the dims of the indices but the last, then those of x that no coordinate fixes.
void check_updates(const InferContext& context) {
  const Dims& x = context.dims(0);
  const Dims& indices = context.dims(1);
  const Dims& updates = context.dims(2);
  const auto refuse = [&] {
    context.reject("updates of shape ", graph::to_string(updates), " for indices ",
                   graph::to_string(indices), " and data ", graph::to_string(x));
  };
  if (indices.empty() || x.empty()) refuse();
  if (!indices.back().known()) return;
  const auto rank = static_cast<std::int64_t>(x.size());
  const std::int64_t coordinates = indices.back().size();
  if (coordinates > rank) refuse();
  Dims want(indices.begin(), indices.end() - 1);
  want.insert(want.end(), x.begin() + coordinates, x.end());
  if (!compatible(Type::tensor(context.dtype(0), want), context.input(2))) refuse();
}

void infer(InferContext& context) {
  scatter_reduction(context);
  if (context.dtype(2) != context.dtype(0)) {
    context.reject("updates are ", context.dtype(2), ", the data ", context.dtype(0));
  }
  if (context.ranked(0) && context.ranked(1) && context.ranked(2)) check_updates(context);
  context.set_output(0, context.input(0));
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const ElementOffsets offsets = ElementOffsets::of_slices(context, 1, x, 0);
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
