#include "trainer/model/optimize.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include "core/message.h"
#include "graph/contract/catalogue_trace.h"
#include "graph/evaluate/evaluate_node.h"
#include "graph/passes/pass.h"
#include "graph/passes/rewrite.h"

namespace ondine::trainer {
namespace {

// Disabled fusions, from options and environment.
std::vector<Fusion> left_out(const LoadOptions& options) {
  std::vector<Fusion> fusions = options.no_fusion;
  const char* more = std::getenv("ONDINE_NO_FUSION");
  for (std::string_view rest = more == nullptr ? "" : more; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (comma > 0)
      std::ranges::copy(fusions_from_name(rest.substr(0, comma)), std::back_inserter(fusions));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return fusions;
}

// The passes of a phase that are not disabled.
std::vector<graph::Pass> chosen(graph::Phase phase, const LoadOptions& options) {
  std::vector<graph::Pass> chosen = graph::passes_of(phase);
  for (const Fusion fusion : left_out(options)) {
    std::erase_if(chosen, [&](const auto& pass) { return pass.name == to_string(fusion); });
  }
  return chosen;
}

void fuse(graph::Graph& graph, const graph::PassContext& context,
          std::span<const graph::Pass> passes) {
  {
    const graph::CatalogueTrace::Pause pause;
    graph::run_passes(graph, context, passes);
  }
  graph::CatalogueTrace::note(graph);
}

// Without fusion. Constant folding at load time is bounded like a call.
graph::PassContext folding(const LoadOptions& options) {
  graph::PassContext context;
  context.fold_bytes = options.limits.fold_bytes;
  context.evaluate = [limits = options.limits](const graph::Node& node, const graph::Graph& owner) {
    return graph::evaluate_node(node, owner,
                                graph::folding_limits(node, owner, limits, limits.fold_bytes));
  };
  return context;
}

}  // namespace

void recognize(graph::Graph& graph, const graph::Catalogue& catalogue, const LoadOptions& options) {
  graph::PassContext context = folding(options);
  context.catalogue = &catalogue;
  fuse(graph, context, chosen(graph::Phase::recognition, options));
}

void optimize(graph::Graph& graph, const graph::Catalogue& catalogue, const LoadOptions& options,
              graph::FoldedConvolutions& folded, RoundedWeights* rounded) {
  graph::PassContext context = folding(options);
  context.catalogue = &catalogue;
  context.folded = &folded;
  context.keeps_precision = options.precision == Precision::float32;
  context.rounds_factors = rounded != nullptr && has_precision(Precision::bfloat16);
  if (rounded != nullptr) {
    const bool as_bytes = options.precision == Precision::int8;
    context.round_weights = [=](const Tensor& weights, std::int64_t axis) {
      if (as_bytes) return rounded->in_bytes(weights, axis);
      const bool full = weights.dtype() == DType::float32;
      return graph::RoundedMatrix{full ? rounded->of(weights) : Tensor(), {}};
    };
  }
  for (const graph::Pass& pass : chosen(graph::Phase::storage, options)) {
    fuse(graph, context, std::array{pass});
  }
  graph::run_passes(graph, context, graph::passes_of(graph::Phase::folding));
  for (const graph::Pass& fusion : chosen(graph::Phase::fusion, options)) {
    fuse(graph, context, std::array{fusion, graph::remove_dead_nodes});
  }
  graph::drop_unread_constants(graph);
}

bool multiplies_bytes(const graph::Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const graph::Node& node) {
    const graph::NodeView view(node);
    if (node.op->domain == graph::ondine_domain) {
      if (node.op->name == "DequantizeMatMul" && view.has_input(2)) return true;
      if (node.op->name == "ProjectedCrossEntropy" && view.has_input(3)) return true;
    }
    return std::ranges::any_of(node.subgraphs,
                               [](const auto& sub) { return multiplies_bytes(*sub.graph); });
  });
}

}  // namespace ondine::trainer

namespace ondine {

std::vector<std::string> fusion_names() {
  std::vector<std::string> names;
  for (const Fusion fusion : all_fusions()) names.emplace_back(to_string(fusion));
  return names;
}

}  // namespace ondine
