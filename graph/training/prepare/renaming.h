// Other names for values, in all that reads them.
#pragma once

#include <map>
#include <string>

#include "graph/ir/document.h"

namespace ondine::graph {

using Renaming = std::map<std::string, std::string, std::less<>>;

// `name` or what it is called now.
const std::string& renamed(const Renaming& names, const std::string& name);

// Changes the inputs of a node and what its subgraphs capture. A subgraph's own names must never
// equal outer ones.
void rename_reads(NodeDef& node, const Renaming& names);

}  // namespace ondine::graph
