// sequence_add.cpp — ai.ondine SequenceAdd(a, b): the element-wise sum of two sequences or
// optionals of equal structure, by which their derivatives accumulate;  da = db = dy.
// ai.ondine SequenceZeros(x): zeros in the structure of x.
#include "kernels/common/nested_gradient.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

Kernel bind_add(BindContext&) {
  return [](KernelContext& call) {
    call.set_value(0, add_values(call.value(0), call.value(1), call.budget()));
  };
}

std::vector<Val> grad_add(GradContext& g) { return {g.dy(0), g.dy(0)}; }

Kernel bind_zeros(BindContext&) {
  return [](KernelContext& call) { call.set_value(0, zero_value(call.value(0), call.budget())); };
}

}  // namespace

extern const OpDef sequence_add{.name = "SequenceAdd",
                                .domain = ondine_domain,
                                .infer = infer_same_as_input,
                                .bind = bind_add,
                                .grad = grad_add};
extern const OpDef sequence_zeros{.name = "SequenceZeros",
                                  .domain = ondine_domain,
                                  .infer = infer_same_as_input,
                                  .bind = bind_zeros,
                                  .no_gradient = any_input};

}  // namespace ondine::kernels::ops
