// Gives a model the functions of operator-set documents that it calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/check/findings.h"
#include "graph/contract/catalogue.h"
#include "graph/ir/operator_set.h"

namespace ondine::graph {

struct AvailableSet {
  std::string name;  // for messages
  OperatorSetDef def;
};

// Which functions a link starts from.
enum class LinkFrom {
  graphs,     // those that graphs of the model call, and those that they call in turn
  functions,  // all that the model has
};

// Appends the functions that nodes of `model` call and `sets` have to its functions, and the
// imports of their domains where the model has none; raises its IR version to that of their sets. A
// node calls the function of its name and overload in a set of its domain with the version that the
// model, or the function around the node, imports; with several versions the highest whose set has
// the function. Functions of the model and operators of the catalogue take precedence. Adds a
// finding for each function that two sets of the same domain and version define differently, for
// functions of one name that are called in two versions, and for nodes that nothing else defines
// and whose domain has sets, but none with the function. Returns the indices of the sets it took
// functions from. Follows calls without recursion, so that cycles end: check_structure finds them.
std::vector<std::size_t> link_functions(ModelDef& model, std::span<const AvailableSet> sets,
                                        const Catalogue& catalogue, LinkFrom from,
                                        Findings& findings);

}  // namespace ondine::graph
