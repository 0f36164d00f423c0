// Other names for values, in all that reads them.
#pragma once

#include <map>
#include <string>

#include "graph/ir/document.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {

using Renaming = std::map<std::string, std::string, std::less<>>;

// `name` or what it is called now.
const std::string& renamed(const Renaming& names, const std::string& name);

// Changes the inputs of a node and what its subgraphs capture. A subgraph's own names must never
// equal outer ones.
void rename_reads(NodeDef& node, const Renaming& names);

// The node under new names, `prefix` before the old ones, with what it reads renamed; `names`
// receives its outputs.
NodeDef renamed_copy(const NodeDef& node, const std::string& prefix, Names& fresh, Renaming& names);

}  // namespace ondine::graph
