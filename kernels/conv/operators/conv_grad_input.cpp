// conv_grad_input.cpp — ConvGradInput (ai.ondine): (dy, w, shape of x) -> dx of y = Conv(x, w).
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_operator.h"

namespace ondine::kernels::ops {

extern const OpDef conv_grad_input{.name = "ConvGradInput",
                                   .domain = ondine_domain,
                                   .infer = infer_conv_grad_input,
                                   .bind = bind_conv_grad_input,
                                   .grad = grad_of_conv_grad_input,
                                   .expand = expand_conv_grad_input,
                                   .traits = {.cannot_fail = true}};

}  // namespace ondine::kernels::ops
