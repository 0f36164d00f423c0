// Passes: rewrites of a resolved graph that keep its results. One pass per file.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "graph/contract/catalogue.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// A result of fold_normalization, shared by the graphs of a model. `sources` are the constants it
// was computed from, identified by their memory.
struct FoldedConvolution {
  std::vector<Tensor> sources;
  float epsilon = 0;
  Tensor weights;
  Tensor bias;
};
using FoldedConvolutions = std::vector<FoldedConvolution>;

struct PassContext {
  // Computes the outputs of a node whose inputs are all constant. Absent: no folding.
  std::function<std::vector<Tensor>(const Node&, const Graph&)> evaluate;
  // Bytes of the constants that folding may add to one graph.
  std::uint64_t fold_bytes = std::uint64_t{64} << 20;
  // Holds the fused operators. Absent: no fusion.
  const Catalogue* catalogue = nullptr;
  FoldedConvolutions* folded = nullptr;
  // Whether products keep the precision of float32. Otherwise values are best stored as rounded
  // factors of products.
  bool keeps_precision = true;
  // Whether they round large float32 factors, as kernels of bfloat16 do.
  bool rounds_factors = false;
  // Gives frozen float32 weights in bfloat16, for products that round them anyway; an undefined
  // tensor for those that stay as they are. Absent: all do.
  std::function<Tensor(const Tensor& weights)> round_weights;
};

// A pass keeps the graph's inputs and outputs: number, order, names and values. Unused values may
// remain. Subgraphs are rewritten too.
struct Pass {
  std::string_view name;
  bool (*run)(Graph&, const PassContext&);  // returns whether it changed the graph
};

extern const Pass fold_constants;            // nodes whose inputs are all constant
extern const Pass remove_identities;         // nodes that return an input unchanged
extern const Pass merge_common_expressions;  // equal operators on equal inputs
extern const Pass remove_dead_nodes;         // nodes on which no output depends

// Before derivatives are appended: fold_constants for small results alone, so that recognition
// knows shapes and factors that exporters compute step by step.
extern const Pass fold_shapes;
// The same: Slices that partition an axis into one Split.
extern const Pass merge_slices;

// Before fold_constants: products of large constants that are transposed first take the constants
// as they are stored.
extern const Pass absorb_transposes;

// Fusion: replaces several nodes by one operator of the domain ai.ondine, provided that nothing
// else reads the values between them. Results agree up to rounding. remove_dead_nodes follows each.
extern const Pass fuse_quantized;  // DequantizeLinear, product, QuantizeLinear: within one quantum
extern const Pass fuse_activation_gradient;     // comparison and Where into ReluGrad, ClipGrad
extern const Pass fuse_normalization_gradient;  // with the derivative of its activation
extern const Pass move_relu_gradient;           // before the derivative of MaxPool
extern const Pass fuse_normalization;           // with an addend and its activation
extern const Pass fuse_depthwise_gradient;      // with that of the normalization before it
extern const Pass fuse_depthwise;               // with the normalization before it
extern const Pass fuse_normalized_pointwise;    // a pointwise convolution, with the same
extern const Pass fuse_pointwise_gradient;      // both derivatives, which share dy
extern const Pass fold_normalization;           // BatchNormalization by constants into Conv
extern const Pass fuse_activation;       // Relu and Clip into Conv and Gemm, a bias into MatMul
extern const Pass fuse_pointwise;        // with the depthwise convolution after it
extern const Pass fuse_gather_gradient;  // into the sum that it is added to
extern const Pass fuse_sgd_update;       // w - rate * g into SgdUpdate
extern const Pass fuse_gemm_sgd_update;  // SgdUpdate by a product
extern const Pass fuse_gemm_adam;        // Adam of a large variable by a product
extern const Pass fuse_elementwise;      // element-wise operators before outputs

// fuse_quantized comes first and is to run before the others and fold_constants.
std::span<const Pass> fusion_passes();

// Recognition: replaces composed forms by operators with gradient rules of their own, before
// derivatives are appended and unless a Gradient node names a value in between.
extern const Pass recognize_layer_normalization;
extern const Pass recognize_gelu;
extern const Pass recognize_swish;
extern const Pass recognize_cross_entropy;  // LogSoftmax and NegativeLogLikelihoodLoss
extern const Pass recognize_attention;      // ScaledAttention

std::span<const Pass> recognition_passes();
// Run before them: they fold shapes, remove nodes that return their input and merge what a step and
// inference both compute, so that composed forms are recognized.
std::span<const Pass> preparation_passes();

// In the order in which one enables the next.
std::span<const Pass> standard_passes();

struct PassReport {
  std::string_view name;
  bool changed = false;
  std::size_t nodes = 0;  // after the pass, without those of subgraphs
};

// Runs the first `stop_after` passes and verifies the graph after each that changed it
// (graph/check/verify_graph.h), naming the pass in the error.
std::vector<PassReport> run_passes(
    Graph& graph, const PassContext& context, std::span<const Pass> passes = standard_passes(),
    std::size_t stop_after = std::numeric_limits<std::size_t>::max());

}  // namespace ondine::graph
