// conv_grad_weight.cpp — ConvGradWeight (ai.ondine): (x, dy, shape of w) -> dw of y = Conv(x, w).
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_operator.h"

namespace ondine::kernels::ops {

extern const OpDef conv_grad_weight{.name = "ConvGradWeight",
                                    .domain = ondine_domain,
                                    .infer = infer_conv_grad_weight,
                                    .bind = bind_conv_grad_weight,
                                    .grad = grad_of_conv_grad_weight,
                                    .expand = expand_conv_grad_weight,
                                    .traits = {.cannot_fail = true}};

}  // namespace ondine::kernels::ops
