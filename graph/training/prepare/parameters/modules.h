// The modules of PyTorch that nodes come from.
#pragma once

#include <string>
#include <unordered_set>

#include "graph/ir/document.h"

namespace ondine::graph {

// "layers.0.fc", by the scopes in the metadata (dynamo=True) or the name of the node
// ("/layers/layers.0/fc/MatMul"). "" for nodes of the outermost module and of other exporters.
std::string module_of(const NodeDef& node);
// The modules of a graph's nodes.
class Modules {
 public:
  explicit Modules(const GraphDef& graph);

  // module_of(), without the number that the exporter adds where a module runs again: "fc" of
  // "/fc_1/MatMul" if there is a module "fc" and no parameter of one that is called "fc_1".
  std::string of(const NodeDef& node) const;

 private:
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> owners_;  // of parameters
};

// Whether the metadata has the scopes.
bool has_scopes(const NodeDef& node);

}  // namespace ondine::graph
