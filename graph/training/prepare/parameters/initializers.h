// Finding initializers by their names.
#pragma once

#include <string_view>
#include <unordered_map>

#include "graph/ir/document.h"

namespace ondine::graph {

// Valid while the graph keeps its initializers.
class InitializerIndex {
 public:
  explicit InitializerIndex(const GraphDef& graph) {
    for (const InitializerDef& one : graph.initializers) found_.emplace(one.name, &one);
  }

  const InitializerDef* find(std::string_view name) const {
    const auto found = found_.find(name);
    return found == found_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, const InitializerDef*> found_;
};

}  // namespace ondine::graph
