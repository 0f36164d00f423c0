// Which layers patterns name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ondine/prepare.h>

#include "graph/training/adapters/find_layers.h"

namespace ondine::graph {

// Replaces "@3,7", numbers of nodes of the main graph, by what names them from now on, whatever
// is done to the graph. Error(mismatch) for what is no number of a node.
void name_numbered_nodes(const GraphDef& graph, PrepareOptions& options);

class Targets {
 public:
  // `option`: what the messages call the patterns.
  Targets(const std::vector<std::string>& patterns, std::string_view option)
      : patterns_(&patterns), option_(option), matched_(patterns.size()) {}

  // "all-linear", or no pattern where `all` says so, names inner linear layers whose weight no
  // other node reads. Error(mismatch) for a named one with a weight that other nodes read.
  bool choose(const AdapterLayer& layer, const NodeDef& node, const LayerFinder& finder, bool all);
  // Error(mismatch) for a pattern that matched nothing, with the layers that there are.
  void require_all_matched(const GraphDef& graph, const LayerFinder& finder) const;
  // Weights of inner linear layers that were left out because other nodes read them.
  const std::vector<std::string>& shared() const noexcept { return shared_; }

 private:
  const std::vector<std::string>* patterns_;
  std::string option_;
  std::vector<bool> matched_;
  std::vector<std::string> shared_;
};

}  // namespace ondine::graph
