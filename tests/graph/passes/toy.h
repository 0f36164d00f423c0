// Toy operators and graphs for the passes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "graph/contract/builder.h"
#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "graph/passes/pass.h"

namespace ondine::test {

inline graph::Kernel bind_nothing(graph::BindContext&) {
  return [](graph::KernelContext&) {};
}

inline const graph::OpDef toy_plus{.name = "Plus",
                                   .infer = graph::infer_broadcast,
                                   .bind = bind_nothing,
                                   .traits = {.commutative = true}};
inline const graph::OpDef toy_minus{
    .name = "Minus", .infer = graph::infer_broadcast, .bind = bind_nothing};
inline const graph::OpDef toy_noise{.name = "Noise",
                                    .infer = graph::infer_same_as_input,
                                    .bind = bind_nothing,
                                    .traits = {.random = true}};
inline const graph::OpDef toy_view{.name = "View",
                                   .infer = graph::infer_same_as_input,
                                   .bind = bind_nothing,
                                   .traits = {.view = true}};
inline const graph::OpDef toy_identity{.name = "Identity",
                                       .infer = graph::infer_same_as_input,
                                       .bind = bind_nothing,
                                       .traits = {.view = true}};
inline const graph::OpDef toy_dropout{
    .name = "Dropout", .infer = graph::infer_same_as_input, .bind = bind_nothing};
inline const graph::OpDef toy_transpose{
    .name = "Transpose",
    .infer =
        [](graph::InferContext& context) {
          auto dims = context.dims(0);
          const auto perm = context.attr_ints("perm");
          for (std::size_t i = 0; i < perm.size(); ++i) {
            dims[i] = context.dims(0)[static_cast<std::size_t>(perm[i])];
          }
          context.set_output(0, context.dtype(0), dims);
        },
    .bind = bind_nothing};
inline const graph::OpDef toy_call{.name = "Call",
                                   .infer =
                                       [](graph::InferContext& context) {
                                         context.set_output(0, context.infer_subgraph(0, {}).at(0));
                                       },
                                   .bind = bind_nothing};

inline const graph::Catalogue& toy_catalogue() {
  static const std::vector<const graph::OpDef*> list{&toy_plus,      &toy_minus,    &toy_noise,
                                                     &toy_view,      &toy_identity, &toy_dropout,
                                                     &toy_transpose, &toy_call};
  static const graph::Catalogue catalogue(list);
  return catalogue;
}

using Ops = std::vector<std::string>;

// The operators of the nodes, in order.
inline Ops operators(const graph::Graph& graph) {
  Ops out;
  for (const auto& node : graph.nodes) out.emplace_back(node.op->name);
  return out;
}

// Runs the fusion, then removes dead nodes. Returns whether the fusion changed the graph.
inline bool fuse(graph::Graph& graph, const graph::Pass& fusion,
                 const graph::Catalogue* catalogue) {
  graph::PassContext context;
  context.catalogue = catalogue;
  return run_passes(graph, context, std::array{fusion, graph::remove_dead_nodes}).front().changed;
}

// A graph with input "x", float[2, 3].
struct ToyGraph {
  graph::Graph graph;
  graph::Builder builder{graph, toy_catalogue()};
  graph::Val x;

  ToyGraph() {
    graph.inputs = {graph.add_value("x", graph::Type::tensor(DType::float32, Shape{2, 3}))};
    x = builder.value(graph.inputs[0]);
  }
  graph::Val floats(std::vector<float> values) {
    return builder.constant(Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values));
  }
  void output(graph::Val value) { graph.outputs.push_back(value.id()); }
  bool run(const graph::Pass& pass, const graph::PassContext& context = {}) {
    const std::vector<graph::PassReport> reports = run_passes(graph, context, std::span(&pass, 1));
    return reports.at(0).changed;
  }
  Ops ops() const { return operators(graph); }
};

}  // namespace ondine::test
