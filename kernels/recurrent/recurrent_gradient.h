// The gradient rules of recurrent operators.
#pragma once

#include "graph/contract/builder.h"
#include "kernels/recurrent/recurrent_unroll.h"

namespace ondine::kernels {

// A node RNNGrad, GRUGrad or LSTMGrad. Error(unsupported) where the outputs that are saved for it
// are differentiated themselves.
std::vector<graph::Val> recurrent_gradient(graph::GradContext& g, const CellTraits& cell);

// For RNNGrad, GRUGrad or LSTMGrad: the second derivative, of the unrolled steps.
std::vector<graph::Val> recurrent_second_gradient(graph::GradContext& g, const CellTraits& cell,
                                                  UnrolledStep step);

}  // namespace ondine::kernels
