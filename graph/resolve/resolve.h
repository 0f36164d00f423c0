// Resolves a graph of a ModelDef into a Graph: names become ids, operators are looked up, functions
// are inlined and types are inferred.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include <ondine/error.h>
#include <ondine/limits.h>

#include "graph/contract/catalogue.h"
#include "graph/ir/document.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

struct ResolveContext {
  const ModelDef* model = nullptr;  // opset imports, functions
  const Catalogue* catalogue = nullptr;
  const Limits* limits = nullptr;
  std::shared_ptr<Symbols> symbols;  // required; errors and warnings name their dims
  // Initializers that change between calls; they become inputs without a constant.
  const std::set<std::string, std::less<>>* variables = nullptr;
  // Called for each error; resolution continues with what does not depend on it. The result is
  // valid only if it was never called. Absent: the first error is thrown.
  std::function<void(const Error&)> report;
  // When present, inference decides on shapes, and it is called with the declared shapes that it
  // contradicts; GraphValue::declared of such values has no dims. Declared sizes are not merged
  // into types, since a run may contradict them: only a rank that inference does not know is.
  // Absent: a contradiction is an error.
  std::function<void(const Error&)> warn;
  // Called for every node once its inputs and outputs have types. May throw an Error.
  std::function<void(const Node&, const Graph&)> check_types;
};

// The result's inputs are the declared ones, in order, then the variables that are not declared as
// inputs. An input with an initializer has no constant: the caller feeds the initializer as
// default. All other initializers become constants.
Graph resolve(const GraphDef& graph, const ResolveContext& context);

// Resolves the graph that has the inputs, initializers, nodes, outputs and value_infos of the
// parts, one part after the other, and the name of the first.
using GraphParts = std::span<const GraphDef* const>;
Graph resolve(GraphParts parts, const ResolveContext& context);

}  // namespace ondine::graph
