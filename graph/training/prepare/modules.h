// The modules of PyTorch that nodes come from.
#pragma once

#include <string>

#include "graph/ir/document.h"

namespace ondine::graph {

// "layers.0.fc", by the scopes in the metadata (dynamo=True) or the name of the node
// ("/layers/layers.0/fc/MatMul"). "" for nodes of the outermost module and of other exporters.
std::string module_of(const NodeDef& node);
// Whether the metadata has the scopes.
bool has_scopes(const NodeDef& node);

}  // namespace ondine::graph
