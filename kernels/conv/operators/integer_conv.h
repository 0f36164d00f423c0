// Shared by ConvInteger, QLinearConv and Int8Conv. Zero point and scale of w are per tensor or per
// output channel.
#pragma once

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"

namespace ondine::kernels::ops {

// Input p, where given, has one element or one for each of `count`.
void check_conv_parameter(const graph::InferContext& context, std::size_t p, graph::Dim count,
                          std::string_view what);

// The output of a convolution of input 0 by input w.
void infer_integer_conv(graph::InferContext& context, std::size_t w, DType result);

// A vector over axis 0 of w, or over the channels of y, with `trailing` dims of 1 appended.
graph::Val over_channels(graph::Val p, std::size_t trailing);

}  // namespace ondine::kernels::ops
