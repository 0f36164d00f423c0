// The kernels of ScaledAttention, PackedAttention and their gradients.
#pragma once

#include "kernels/attention/attention_call.h"

namespace ondine::kernels::ops {

// The operands that the kernel reads as bfloat16, and whether it rounds float32 to that.
graph::RoundedInputs rounded_operands(const graph::BindContext& context,
                                      const AttentionCall& layout);

graph::Kernel bind_attention(graph::BindContext& context, AttentionCall layout);
// The parts of k and of v, float32, are copied together (AttentionCall::in_parts).
graph::Kernel bind_attention_in_parts(graph::BindContext& context, AttentionCall layout);
// dy is input 0.
graph::Kernel bind_attention_gradient(graph::BindContext& context, AttentionCall layout);

}  // namespace ondine::kernels::ops
