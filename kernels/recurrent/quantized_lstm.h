// QuantizedLSTM (ai.ondine), which com.microsoft's DynamicQuantizeLSTM expands into: the standard's
// LSTM with weights W [directions, input_size, 4 hidden_size] and R [directions, hidden_size,
// 4 hidden_size] in 8 bits. X is rounded to 8 bits as a whole, and h of all samples together before
// each step, as DynamicQuantizeLinear rounds; products are exact sums of integers. Samples whose
// sequence has ended count as zeros, or with the attribute keeps_ended as their last h, and a
// sample's last step comes first backwards.
#pragma once

#include "graph/contract/infer.h"
#include "kernels/recurrent/recurrence.h"

namespace ondine::kernels {

struct QuantizedLstmInput {  // after those of LSTM
  enum : std::size_t { w_scale = RecurrentInput::count, w_point, r_scale, r_point, count };
};
// After Y, Y_h, Y_c, gates and cells, for the derivative: X, h after each step and the initial h as
// the products see them.
struct QuantizedLstmOutput {
  enum : std::size_t { gates = 3, cells, rounded_x, rounded_y, rounded_h };
};

inline bool keeps_ended(const graph::NodeView& node) {
  return node.attr_int("keeps_ended", 0) != 0;
}

// Checks attributes and inputs and sets the outputs.
void infer_quantized_lstm(graph::InferContext& context);

}  // namespace ondine::kernels
