// GemmActivation (ai.ondine): Gemm with its inputs and attributes, followed by the activation that
// the attribute `activation` names, Relu or Relu6, before a result is stored.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/rounded_factors.h"

namespace ondine::kernels::ops {

extern const OpDef gemm_activation{.name = "GemmActivation",
                                   .domain = ondine_domain,
                                   .infer = infer_gemm,
                                   .bind = bind_gemm,
                                   .grad = grad_of_expansion,
                                   .expand = expand_fused_activation,
                                   .rounded = rounds_product<2>};

}  // namespace ondine::kernels::ops
