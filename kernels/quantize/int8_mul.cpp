// Int8Mul (ai.ondine): the quantized product of a and b (int8_pair.h). No derivative.
#include "kernels/quantize/int8_pair.h"

namespace ondine::kernels::ops {
namespace {

Kernel bind(BindContext& context) {
  return bind_int8_pair(context, &math::QuantizeKernels::multiply);
}

std::vector<Val> expand(ExpandContext& context) {
  return expand_int8_pair(context, [](Val a, Val b) { return a * b; });
}

}  // namespace

extern const OpDef int8_mul{.name = "Int8Mul",
                            .domain = ondine_domain,
                            .infer = infer_int8_pair,
                            .bind = bind,
                            .expand = expand,
                            .no_gradient = any_input};

}  // namespace ondine::kernels::ops
