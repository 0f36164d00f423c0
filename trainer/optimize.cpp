#include "trainer/optimize.h"

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

// The passes that are not disabled.
std::vector<graph::Pass> chosen(std::span<const graph::Pass> passes, const LoadOptions& options) {
  std::vector<graph::Pass> chosen(passes.begin(), passes.end());
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
  const auto preparation = graph::preparation_passes();
  std::vector<graph::Pass> passes(preparation.begin(), preparation.end());
  std::ranges::copy(chosen(graph::recognition_passes(), options), std::back_inserter(passes));
  fuse(graph, context, passes);
}

void optimize(graph::Graph& graph, const graph::Catalogue& catalogue, const LoadOptions& options,
              graph::FoldedConvolutions& folded, RoundedWeights* rounded) {
  graph::PassContext context = folding(options);
  context.catalogue = &catalogue;
  context.folded = &folded;
  context.keeps_precision = options.precision == Precision::float32;
  context.rounds_factors = rounded != nullptr;
  if (rounded != nullptr) {
    context.round_weights = [=](const Tensor& weights) { return rounded->of(weights); };
  }
  fuse(graph, context, std::array{graph::absorb_transposes});
  const auto fusions = chosen(graph::fusion_passes(), options);
  // Folding would dequantize constant weights.
  const auto is_early = [](const graph::Pass& pass) {
    return pass.name == graph::fuse_quantized.name;
  };
  for (const graph::Pass& fusion : fusions) {
    if (is_early(fusion)) fuse(graph, context, std::array{fusion});
  }
  graph::run_passes(graph, context);
  for (const graph::Pass& fusion : fusions) {
    if (is_early(fusion)) continue;
    fuse(graph, context, std::array{fusion, graph::remove_dead_nodes});
  }
  graph::drop_unread_constants(graph);
}

}  // namespace ondine::trainer

namespace ondine {

std::vector<std::string> fusion_names() {
  std::vector<std::string> names;
  for (const Fusion fusion : all_fusions()) names.emplace_back(to_string(fusion));
  return names;
}

}  // namespace ondine
