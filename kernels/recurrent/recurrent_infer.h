// Types of the outputs of recurrent operators.
#pragma once

#include "graph/contract/infer.h"
#include "kernels/recurrent/recurrence.h"

namespace ondine::kernels {

// Checks attributes and inputs, sets the outputs Y, Y_h, Y_c and what is kept for the derivative:
// the gates [directions, rows, saved_gates * hidden_size] and, with a cell state, the cells
// [directions, rows, hidden_size]. The gates are the inputs of their activations, but for a
// standard LSTM their results.
void infer_recurrent(graph::InferContext& context, const CellTraits& cell);

// The derivatives have the types of the operands, also of those that the node leaves out.
void infer_recurrent_grad(graph::InferContext& context, const CellTraits& cell);

}  // namespace ondine::kernels
