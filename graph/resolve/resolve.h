// Stage 2 and 3: a graph of a ModelDef becomes a Graph. Names turn into ids, operators are looked
// up, functions are inlined, every value gets a type.
#pragma once

#include <functional>
#include <memory>
#include <set>
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
  std::shared_ptr<Symbols> symbols;
  // Initializers that change between calls: they become inputs without a constant.
  const std::set<std::string, std::less<>>* variables = nullptr;
  // Called for each finding; resolution goes on with what does not depend on it. The result is only
  // of use when it was never called.
  std::function<void(const Error&)> report;
  // Called for every node once its inputs and outputs have types. May throw an Error.
  std::function<void(const Node&, const Graph&)> check_types;
};

// inputs: those declared, in order, then the variables that are not declared as inputs. Inputs with
// an initializer keep no constant: the caller feeds it where nothing else is fed. Every other
// initializer is a constant.
Graph resolve(const GraphDef& graph, const ResolveContext& context);

// The declared type; named dims through `symbols`.
Type to_type(const TypeDef& def, Symbols& symbols);

// "" for both spellings of the default domain.
std::string_view normal_domain(std::string_view domain) noexcept;

}  // namespace ondine::graph
