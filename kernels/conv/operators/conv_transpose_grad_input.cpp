// conv_transpose_grad_input.cpp — ConvTransposeGradInput (ai.ondine): (dy, w, shape of x) -> dx of
// y = ConvTranspose(x, w).
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_operator.h"

namespace ondine::kernels::ops {

extern const OpDef conv_transpose_grad_input{.name = "ConvTransposeGradInput",
                                             .domain = ondine_domain,
                                             .infer = infer_conv_grad_input,
                                             .bind = bind_conv_grad_input,
                                             .grad = grad_of_conv_grad_input,
                                             .expand = expand_conv_grad_input};

}  // namespace ondine::kernels::ops
