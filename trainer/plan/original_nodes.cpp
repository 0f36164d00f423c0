#include "trainer/plan/original_nodes.h"

#include <algorithm>

#include "graph/passes/same_attributes.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// Subgraphs are typed for the shapes of a plan.
bool is_same(const Node& a, const Node& b) {
  return a.op == b.op && a.version == b.version && a.stream == b.stream && a.name == b.name &&
         a.inputs == b.inputs && a.outputs == b.outputs && a.references == b.references &&
         a.subgraphs.empty() && b.subgraphs.empty() && same_attributes(a.attributes, b.attributes);
}

}  // namespace

OriginalNodes::OriginalNodes(std::shared_ptr<const Graph> graph)
    : graph_(std::move(graph)),
      producers_(graph_->values.size(), static_cast<std::uint32_t>(graph_->nodes.size())) {
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    for (const ValueId id : graph_->nodes[i].outputs) {
      if (id != no_value) {
        producers_[static_cast<std::size_t>(id)] = static_cast<std::uint32_t>(i);
      }
    }
  }
}

std::shared_ptr<const Node> OriginalNodes::hold(Node node) const {
  // no_value is above all ids.
  const auto first =
      node.outputs.empty() ? producers_.size() : static_cast<std::size_t>(node.outputs.front());
  const std::size_t position = first < producers_.size() ? producers_[first] : graph_->nodes.size();
  if (position < graph_->nodes.size() && is_same(node, graph_->nodes[position])) {
    return {graph_, &graph_->nodes[position]};
  }
  return std::make_shared<const Node>(std::move(node));
}

}  // namespace ondine::trainer
