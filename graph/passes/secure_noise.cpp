#include "graph/passes/secure_noise.h"

#include <algorithm>

namespace ondine::graph {

// Streams follow from names by a hash, which might give two parameters the same noise.
void draw_secretly(Graph& graph, std::span<const std::string> noise, const Catalogue& catalogue) {
  if (noise.empty()) return;
  const OpDef* const secret = catalogue.find(ondine_domain, "SecretNormalLike");
  for (Node& node : graph.nodes) {
    if (node.op->name != "RandomNormalLike" || node.outputs.front() == no_value) continue;
    const std::string& output = graph[node.outputs.front()].name;
    const auto found = std::find(noise.begin(), noise.end(), output);
    if (found == noise.end()) continue;
    node.op = secret;
    node.version = 1;
    node.stream = static_cast<std::uint32_t>(found - noise.begin()) + 1;
  }
}

}  // namespace ondine::graph
