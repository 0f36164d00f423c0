// Shared by the convolution operators. For P = Conv and P = ConvTranspose, y = P(x, w), there are
// in ai.ondine
//   PGradInput(dy, w, shape of x) = dx,  PGradWeight(x, dy, shape of w) = dw.
// Each is linear in both operands, so the derivatives of the three are again the three.
// ConvTranspose is the adjoint of Conv by x.
#pragma once

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "graph/contract/op_def.h"

namespace ondine::kernels::ops {

// P, and P with a fused activation.
void infer_conv(graph::InferContext& context);
graph::Kernel bind_conv(graph::BindContext& context);
std::vector<graph::Val> grad_of_conv(graph::GradContext& g);
// Where P takes bfloat16.
graph::RoundedInputs rounded_conv_inputs(const graph::BindContext& context);
graph::RoundedResult rounded_conv_result(const graph::BindContext& context);
inline constexpr graph::RoundedStorage rounds_conv{.inputs = rounded_conv_inputs,
                                                   .result = rounded_conv_result};

// PGradInput.
void infer_conv_grad_input(graph::InferContext& context);
graph::Kernel bind_conv_grad_input(graph::BindContext& context);
std::vector<graph::Val> grad_of_conv_grad_input(graph::GradContext& g);
std::vector<graph::Val> expand_conv_grad_input(graph::ExpandContext& context);

// PGradWeight.
void infer_conv_grad_weight(graph::InferContext& context);
graph::Kernel bind_conv_grad_weight(graph::BindContext& context);
std::vector<graph::Val> grad_of_conv_grad_weight(graph::GradContext& g);
std::vector<graph::Val> expand_conv_grad_weight(graph::ExpandContext& context);

}  // namespace ondine::kernels::ops
