#include "graph/passes/pass.h"

#include <algorithm>

#include "core/message.h"
#include "core/stop.h"
#include "graph/check/verify_graph.h"
#include "graph/passes/rewrite.h"

namespace ondine::graph {
namespace {

constexpr Step steps[]{
#define ONDINE_PASS(phase, name) {Phase::phase, false, &name},
#define ONDINE_FUSION(phase, name) {Phase::phase, true, &name},
#include "graph/passes/pipeline.inc"
#undef ONDINE_PASS
};

// Copies of the subgraphs, which other graphs may share, take their place if the pass changed them.
bool run_on_subgraphs(Graph& graph, const Pass& pass, const PassContext& context) {
  const std::vector<bool> named = pass.spares_named ? named_flags(graph) : std::vector<bool>();
  bool changed = false;
  for (Node& node : graph.nodes) {
    if (pass.spares_named && captures_flagged(node, named)) continue;
    for (Subgraph& subgraph : node.subgraphs) {
      auto copy = std::make_shared<Graph>(*subgraph.graph);
      if (!run_pass(*copy, pass, context)) continue;
      subgraph.graph = std::move(copy);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

std::span<const Step> pipeline() { return steps; }

std::vector<Pass> passes_of(Phase phase) {
  std::vector<Pass> passes;
  for (const Step& step : steps) {
    if (step.phase == phase) passes.push_back(*step.pass);
  }
  return passes;
}

bool run_pass(Graph& graph, const Pass& pass, const PassContext& context) {
  if (pass.visit == Visit::main_graph) return pass.run(graph, context);
  const bool before = pass.visit == Visit::outermost_first && pass.run(graph, context);
  const bool within = run_on_subgraphs(graph, pass, context);
  const bool after = pass.visit == Visit::innermost_first && pass.run(graph, context);
  return before || within || after;
}

std::vector<PassReport> run_passes(Graph& graph, const PassContext& context,
                                   std::span<const Pass> passes) {
  std::vector<PassReport> reports;
  for (const Pass& pass : passes) {
    with_context(
        [&] {
          check_stop();
          const bool changed = run_pass(graph, pass, context);
          if (changed) verify_graph(graph);
          reports.push_back({pass.name, changed, graph.nodes.size()});
        },
        [&] { return cat("pass ", pass.name); });
  }
  return reports;
}

}  // namespace ondine::graph
