// The kernels of ScaledAttention, PackedAttention and their gradients.
#pragma once

#include "kernels/attention/attention_call.h"

namespace ondine::kernels::ops {

graph::Kernel bind_attention(graph::BindContext& context, AttentionCall layout);
// dy is input 0.
graph::Kernel bind_attention_gradient(graph::BindContext& context, AttentionCall layout);

}  // namespace ondine::kernels::ops
