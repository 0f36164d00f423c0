// sequence_add.cpp — ai.ondine SequenceAdd(a, b): the element-wise sum of two sequences or
// optionals of equal structure, by which their derivatives accumulate;  da = db = dy.
// ai.ondine SequenceZeros(x): zeros in the structure of x.
#include <array>

#include "kernels/common/nested_gradient.h"
#include "kernels/common/op.h"
#include "kernels/sequence/map_elements.h"

namespace ondine::kernels::ops {
namespace {

Kernel bind_add(BindContext&) {
  return [](KernelContext& call) {
    call.set_value(0, add_values(call.value(0), call.value(1), call.budget()));
  };
}

std::vector<Val> expand_add(ExpandContext& context) {
  const std::array<Val, 2> terms{context.x(0), context.x(1)};
  return {map_elements(terms, [](std::span<const Val> both) { return both[0] + both[1]; })};
}

std::vector<Val> grad_add(GradContext& g) { return {g.dy(0), g.dy(0)}; }

Kernel bind_zeros(BindContext&) {
  return [](KernelContext& call) { call.set_value(0, zero_value(call.value(0), call.budget())); };
}

std::vector<Val> expand_zeros(ExpandContext& context) {
  const Val x = context.x(0);
  return {
      map_elements({&x, 1}, [](std::span<const Val> element) { return zeros_like(element[0]); })};
}

}  // namespace

extern const OpDef sequence_add{.name = "SequenceAdd",
                                .domain = ondine_domain,
                                .infer = infer_same_as_input,
                                .bind = bind_add,
                                .grad = grad_add,
                                .expand = expand_add};
extern const OpDef sequence_zeros{.name = "SequenceZeros",
                                  .domain = ondine_domain,
                                  .infer = infer_same_as_input,
                                  .bind = bind_zeros,
                                  .expand = expand_zeros,
                                  .no_gradient = any_input};

}  // namespace ondine::kernels::ops
