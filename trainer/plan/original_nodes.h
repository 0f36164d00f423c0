// The nodes of the graph that plans are made of.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/ir/graph.h"

namespace ondine::trainer {

// Plans share the nodes that planning leaves as they are.
class OriginalNodes {
 public:
  explicit OriginalNodes(std::shared_ptr<const graph::Graph> graph);

  // The original where it equals the node, else the node.
  std::shared_ptr<const graph::Node> hold(graph::Node node) const;

 private:
  std::shared_ptr<const graph::Graph> graph_;
  std::vector<std::uint32_t> producers_;  // by value: a node's position, or the number of nodes
};

}  // namespace ondine::trainer
