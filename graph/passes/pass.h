// Rewriting a resolved graph without changing what it computes. One pass a file.
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

// What fold_normalization made, for the graphs of one model to share. `sources` are the constants
// it was made from, in the memory by which they are found.
struct FoldedConvolution {
  std::vector<Tensor> sources;
  float epsilon = 0;
  Tensor weights;
  Tensor bias;
};
using FoldedConvolutions = std::vector<FoldedConvolution>;

struct PassContext {
  // The outputs of a node whose inputs are all constant, in order. Absent: nothing is computed.
  std::function<std::vector<Tensor>(const Node&, const Graph&)> evaluate;
  // Bytes of the constants that folding may add to one graph.
  std::uint64_t fold_bytes = std::uint64_t{64} << 20;
  // Where fused operators are found. Absent: nothing is fused.
  const Catalogue* catalogue = nullptr;
  FoldedConvolutions* folded = nullptr;
};

// Inputs and outputs of the graph stay what they are, in number, order, name and value; values that
// are no longer needed may stay without readers. Subgraphs are rewritten, too.
struct Pass {
  std::string_view name;
  bool (*run)(Graph&, const PassContext&);  // whether something changed
};

extern const Pass fold_constants;            // nodes whose inputs are all constant
extern const Pass remove_identities;         // nodes that return their input as it is
extern const Pass merge_common_expressions;  // equal operators on equal inputs
extern const Pass remove_dead_nodes;         // nodes that no output depends on

// Fusion: several nodes become one operator of the domain ai.ondine, where nothing else reads what
// lies between them. Results agree to rounding. After each, remove_dead_nodes.
extern const Pass fuse_activation_gradient;     // comparison and Where to ReluGrad, ClipGrad
extern const Pass fuse_normalization_gradient;  // its activation's derivative goes into it
extern const Pass fuse_normalization;           // what is added to it and its activation go into it
extern const Pass fold_normalization;           // by constants, into a Conv by constants
extern const Pass fuse_activation;              // into Conv and Gemm
extern const Pass fuse_sgd_update;              // w - rate g to SgdUpdate
extern const Pass fuse_gemm_sgd_update;         // SgdUpdate by a product to GemmSgdUpdate
extern const Pass fuse_elementwise;  // element-wise ends of the graph to FusedElementwise

std::span<const Pass> fusion_passes();

// Before derivatives are made: composed forms become the operators that have derivatives of their
// own, where no Gradient node names a value between.
extern const Pass recognize_layer_normalization;
extern const Pass recognize_gelu;
extern const Pass recognize_cross_entropy;  // LogSoftmax and NegativeLogLikelihoodLoss
extern const Pass recognize_attention;      // to ScaledAttention

std::span<const Pass> recognition_passes();

// In the order in which they help each other.
std::span<const Pass> standard_passes();

struct PassReport {
  std::string_view name;
  bool changed = false;
  std::size_t nodes = 0;  // of the graph after the pass, without subgraphs
};

// Runs the first `stop_after` passes and verifies the graph after each
// (graph/check/verify_graph.h), naming the pass in the error.
std::vector<PassReport> run_passes(
    Graph& graph, const PassContext& context, std::span<const Pass> passes = standard_passes(),
    std::size_t stop_after = std::numeric_limits<std::size_t>::max());

}  // namespace ondine::graph
