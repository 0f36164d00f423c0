// Nodes that are of some kind or hold such a node in a subgraph or in the function that they call.
#pragma once

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

class NodesWithin {
 public:
  using Kind = bool (*)(const NodeDef& node);

  // The model must outlive it.
  NodesWithin(const ModelDef& model, Kind kind);

  bool contains(const NodeDef& node);

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

  bool any(const std::vector<NodeDef>& nodes);

  Kind kind_;
  std::map<Key, const FunctionDef*> functions_;
  std::map<const FunctionDef*, bool> calls_;  // whether it contains such a node
};

}  // namespace ondine::graph
