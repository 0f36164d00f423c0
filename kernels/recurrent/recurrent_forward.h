// The kernel of RNN, GRU and LSTM.
#pragma once

#include "graph/contract/kernel.h"

namespace ondine::kernels {

graph::Kernel bind_recurrent(graph::BindContext& context);
// Of (the eight inputs; Y, Z, cells; dY, dY_h, dY_c) -> dX, dW, dR, dB, dinitial_h, dinitial_c, dP.
graph::Kernel bind_recurrent_gradient(graph::BindContext& context);

}  // namespace ondine::kernels
