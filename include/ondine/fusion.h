// The graph rewrites that replace several operators by one. Each can be left out
// (LoadOptions::no_fusion), to look for defects or to compare.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ondine/export.h>

namespace ondine {

// In the order in which they run. The recognitions run before derivatives are made.
enum class Fusion : std::uint8_t {
  recognize_layer_normalization,
  recognize_gelu,
  recognize_swish,
  recognize_cross_entropy,  // LogSoftmax and NegativeLogLikelihoodLoss
  recognize_attention,
  fuse_quantized,               // DequantizeLinear, a product, QuantizeLinear: in integers
  fuse_activation_gradient,     // comparison and Where to ReluGrad, ClipGrad
  fold_normalization,           // by constants, into the convolution before it
  fuse_normalization_gradient,  // takes the derivative of its activation
  move_relu_gradient,           // before the derivative of MaxPool, where elements are fewer
  fuse_normalization,           // takes what is added to it and its activation
  fuse_depthwise_gradient,      // takes that of the normalization before it
  fuse_depthwise,               // takes the normalization before it
  fuse_normalized_pointwise,    // a pointwise convolution and its gradient take the same
  fuse_pointwise_gradient,      // both derivatives of a pointwise convolution
  fuse_activation,              // into Conv, Gemm, MatMul; a bias or a sum into MatMul
  fuse_pointwise,               // a pointwise convolution and those after it, as of a bottleneck
  fuse_gather_gradient,         // adds to the sum that it is part of
  fuse_sgd_update,              // w - rate * g
  fuse_gemm_sgd_update,         // w - rate * A B
  fuse_gemm_adam,               // Adam of a large variable by a product A B
  fuse_elementwise,             // element-wise ends of the graph
};

// "fuse_sgd_update" and so on. Static storage.
ONDINE_API const char* to_string(Fusion fusion) noexcept;
ONDINE_API std::span<const Fusion> all_fusions() noexcept;
// The fusions that a name stands for: one for each name of to_string and for the names that
// earlier versions had, every one for "all". Error(not_found) for any other name.
ONDINE_API std::vector<Fusion> fusions_from_name(std::string_view name);

}  // namespace ondine
