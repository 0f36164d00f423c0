// NameScope: maps the names visible in a graph or function call to values.
#pragma once

#include <forward_list>
#include <string>
#include <vector>

#include "graph/contract/opsets.h"
#include "graph/ir/document.h"
#include "graph/ir/graph.h"
#include "graph/ir/name_table.h"

namespace ondine::graph {

// The call of a function that is being inlined.
struct CallSite {
  const FunctionDef* function = nullptr;
  Attributes attributes;  // values of the function's attributes, defaults included
  Opsets opsets;
  int depth = 0;
};

// The names of one graph or one inlined call; those that are defined must outlive it. The scope of
// a subgraph has a parent in another Graph: finding a name there adds a capture. An inlined call
// shares its caller's Graph, but not its names.
class NameScope {
 public:
  // `parent`: the scope that encloses a subgraph; null for a top-level graph.
  NameScope(Graph& graph, NameScope* parent, const CallSite* call)
      : graph_(&graph), parent_(parent), call_(call) {}

  Graph& graph() const noexcept { return *graph_; }
  const CallSite* call() const noexcept { return call_; }
  // Imports in this scope.
  void set_opsets(const Opsets* opsets) noexcept { opsets_ = opsets; }
  const Opsets& opsets() const noexcept { return *opsets_; }

  void reserve(std::size_t names) { names_.reserve(names); }
  // Throws Error(invalid_model) when the name is already defined in this scope.
  void define(const std::string& name, ValueId id);
  // no_value when the name is not defined.
  ValueId find(const std::string& name);
  // As find, but throws Error(invalid_model) for an undefined name.
  ValueId get(const std::string& name);
  // As get, but no_value for a formal input that the call omits.
  ValueId get_argument(const std::string& name);

  const std::vector<ValueId>& captures() const noexcept { return captures_; }
  // Prefix of value names: makes the names of inlined calls unique.
  std::string prefix;
  NameTable<Type> declared;

 private:
  Graph* graph_;
  NameScope* parent_;
  const CallSite* call_;
  const Opsets* opsets_ = nullptr;
  NameTable<ValueId> names_;
  std::forward_list<std::string> captured_names_;
  std::vector<ValueId> captures_;  // ids in the parent's graph
};

}  // namespace ondine::graph
