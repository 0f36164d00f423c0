// Passes: rewrites of a resolved graph that keep its results. One pass per file.
#pragma once

#include <cstdint>
#include <functional>
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

// A frozen matrix as products of a lower precision hold it.
struct RoundedMatrix {
  Tensor elements;  // bfloat16, or int8; undefined where the matrix stays as it is
  Tensor scale;     // of int8: float32, one for each index of the axis
  std::int64_t axis = 0;
};

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
  // Gives frozen floating point weights for products that round them anyway. `axis`: the dimension
  // of their output channels, unless another graph named one first. Absent: all stay as they are.
  std::function<RoundedMatrix(const Tensor& weights, std::int64_t axis)> round_weights;
};

// The graphs that a pass visits, once each.
enum class Visit : std::uint8_t {
  innermost_first,  // subgraphs before the graph that holds them
  outermost_first,  // after it, since they see constants that it computes
  main_graph        // no subgraph
};

// A pass keeps the graph's inputs and outputs: number, order, names and values. Unused values may
// remain.
struct Pass {
  std::string_view name;
  // Rewrites one graph but none of its subgraphs; returns whether it changed the graph. Callers use
  // run_pass, which visits them.
  bool (*run)(Graph&, const PassContext&);
  Visit visit = Visit::innermost_first;
  // Leaves subgraphs alone that capture a value named by a Gradient node: they see a constant, but
  // are differentiated with respect to it.
  bool spares_named = false;
};

// When a pass runs.
enum class Phase : std::uint8_t {
  recognition,  // before derivatives are appended
  storage,      // before constants are folded, which would store other forms of them
  folding,
  fusion  // after each remove_dead_nodes runs
};

struct Step {
  Phase phase;
  bool optional;  // a public fusion, which users can leave out
  const Pass* pass;
};

#define ONDINE_PASS(phase, name) extern const Pass name;
#include "graph/passes/pipeline.inc"
#undef ONDINE_PASS

// All steps, in their order.
std::span<const Step> pipeline();
std::vector<Pass> passes_of(Phase phase);

// Runs the pass once on the graph and on each of its subgraphs. Returns whether one changed.
bool run_pass(Graph& graph, const Pass& pass, const PassContext& context);

struct PassReport {
  std::string_view name;
  bool changed = false;
  std::size_t nodes = 0;  // after the pass, without those of subgraphs
};

// Verifies the graph after each pass that changed it (graph/check/verify_graph.h), naming the pass
// in the error.
std::vector<PassReport> run_passes(Graph& graph, const PassContext& context,
                                   std::span<const Pass> passes);

}  // namespace ondine::graph
