// ConvActivation (ai.ondine): Conv with its inputs and attributes, followed by the activation that
// the attribute `activation` names, Relu or Relu6, before a result is stored.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/conv/operators/conv_operator.h"
#include "kernels/matmul/fused_activation.h"

namespace ondine::kernels::ops {

extern const OpDef conv_activation{.name = "ConvActivation",
                                   .domain = ondine_domain,
                                   .infer = infer_conv,
                                   .bind = bind_conv,
                                   .grad = grad_of_expansion,
                                   .expand = expand_fused_activation,
                                   .traits = {.per_sample = 1},
                                   .rounded = rounds_conv};

}  // namespace ondine::kernels::ops
