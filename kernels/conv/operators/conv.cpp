// conv.cpp — y[o] = sum over k of w[k] x[o stride + k dilation - pad] + b, x being [N, C, ...], w
// [M, C / group, ...]. Version 11 changed the wording of defaults only, 22 added bfloat16.
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_operator.h"

namespace ondine::kernels::ops {

extern const OpDef conv{.name = "Conv",
                        .infer = infer_conv,
                        .bind = bind_conv,
                        .grad = grad_of_conv,
                        .traits = {.per_sample = 1},
                        .rounded = rounds_conv};

}  // namespace ondine::kernels::ops
