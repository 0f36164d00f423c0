// gather_elements.cpp — y[i] = x[i with i[axis] = indices[i]];  dx = dy added to zeros at the same
// positions (ScatterElements).
#include "kernels/indexing/element_offsets.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const Type& indices = context.input(1);
  if (context.ranked(0) && indices.ranked() && context.rank(0) != indices.rank()) {
    context.reject("indices of rank ", indices.rank(), " for a tensor of rank ", context.rank(0));
  }
  context.set_output(0, context.dtype(0), indices.dims);
}

Kernel bind(BindContext& context) {
  return gather_kernel(context.dtype(0), ElementOffsets::of_elements(context, 1, context.shape(0),
                                                                     context.attr_int("axis", 0)));
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("ScatterElements", {zeros_like(g.x(0)), g.x(1), g.dy(0)},
                           {{"axis", g.attr_int("axis", 0)}, {"reduction", std::string("add")}})};
}

}  // namespace

extern const OpDef gather_elements{.name = "GatherElements",
                                   .infer = infer,
                                   .bind = bind,
                                   .grad = grad,
                                   .traits = {.cheap = true},
                                   .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
