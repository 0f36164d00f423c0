// The rules that Gemm shares with GemmActivation.
#pragma once

#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"

namespace ondine::kernels::ops {

void infer_gemm(graph::InferContext& context);
graph::Kernel bind_gemm(graph::BindContext& context);

}  // namespace ondine::kernels::ops
