// conv_transpose.cpp — the adjoint of Conv by x, plus b: x is [N, C, ...], w [C, M / group, ...].
// Version 11 changed the wording of defaults only, 22 added bfloat16.
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_operator.h"

namespace ondine::kernels::ops {

extern const OpDef conv_transpose{
    .name = "ConvTranspose", .infer = infer_conv, .bind = bind_conv, .grad = grad_of_conv};

}  // namespace ondine::kernels::ops
