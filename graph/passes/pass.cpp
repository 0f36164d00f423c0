#include "graph/passes/pass.h"

#include <array>

#include "core/message.h"
#include "core/stop.h"
#include "graph/check/verify_graph.h"

namespace ondine::graph {

std::span<const Pass> standard_passes() {
  static const std::array passes{remove_dead_nodes, fold_constants, remove_identities,
                                 merge_common_expressions, remove_dead_nodes};
  return passes;
}

std::span<const Pass> fusion_passes() {
  static const std::array passes{fuse_quantized,
                                 fuse_activation_gradient,
                                 fold_normalization,
                                 fuse_normalization_gradient,
                                 move_relu_gradient,
                                 fuse_normalization,
                                 fuse_depthwise_gradient,
                                 fuse_depthwise,
                                 fuse_normalized_pointwise,
                                 fuse_pointwise_gradient,
                                 fuse_activation,
                                 fuse_pointwise,
                                 fuse_gather_gradient,
                                 fuse_sgd_update,
                                 fuse_gemm_sgd_update,
                                 fuse_gemm_adam,
                                 fuse_elementwise};
  return passes;
}

std::span<const Pass> preparation_passes() {
  static const std::array passes{remove_dead_nodes,        fold_shapes,  remove_identities,
                                 merge_common_expressions, merge_slices, remove_dead_nodes};
  return passes;
}

std::span<const Pass> recognition_passes() {
  static const std::array passes{recognize_layer_normalization, recognize_gelu, recognize_swish,
                                 recognize_cross_entropy, recognize_attention};
  return passes;
}

std::vector<PassReport> run_passes(Graph& graph, const PassContext& context,
                                   std::span<const Pass> passes, std::size_t stop_after) {
  std::vector<PassReport> reports;
  for (const Pass& pass : passes.first(std::min(stop_after, passes.size()))) {
    with_context(
        [&] {
          check_stop();
          const bool changed = pass.run(graph, context);
          if (changed) verify_graph(graph);
          reports.push_back({pass.name, changed, graph.nodes.size()});
        },
        [&] { return cat("pass ", pass.name); });
  }
  return reports;
}

}  // namespace ondine::graph
