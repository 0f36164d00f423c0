// Which value a name means at one place of a model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"
#include "graph/ir/graph.h"

namespace ondine::graph {

// What a function's body knows of its call.
struct CallSite {
  const FunctionDef* function = nullptr;
  Attributes attributes;  // by the function's attribute names, defaults filled in
  std::vector<OpsetImport> opsets;
  int depth = 0;
};

// Names of one graph or of one inlined call. A body's scope has a parent in another Graph: looking
// a name up there adds a capture. An inlined call shares its caller's Graph but not its names.
class NameScope {
 public:
  // A graph; `parent` is the scope around a body, null for a top-level graph.
  NameScope(Graph& graph, NameScope* parent, const CallSite* call)
      : graph_(&graph), parent_(parent), call_(call) {}

  Graph& graph() const noexcept { return *graph_; }
  const CallSite* call() const noexcept { return call_; }
  // The opset version of a domain here; nullopt when it is not imported.
  std::optional<std::int64_t> opset(std::string_view domain) const;
  void set_opsets(const std::vector<OpsetImport>* opsets) noexcept { opsets_ = opsets; }
  const std::vector<OpsetImport>* opsets() const noexcept { return opsets_; }

  // Throws Error(invalid_model) when the name has a meaning here already.
  void define(const std::string& name, ValueId id);
  // no_value when the name means nothing.
  ValueId find(const std::string& name);
  // As find; throws Error(invalid_model) naming it.
  ValueId get(const std::string& name);
  // As get, but a formal input that a call leaves out gives no_value.
  ValueId get_argument(const std::string& name);

  const std::vector<ValueId>& captures() const noexcept { return captures_; }
  // Put before the names of values, so that those of inlined calls differ.
  std::string prefix;
  std::map<std::string, Type, std::less<>> declared;

 private:
  Graph* graph_;
  NameScope* parent_;
  const CallSite* call_;
  const std::vector<OpsetImport>* opsets_ = nullptr;
  std::map<std::string, ValueId, std::less<>> names_;
  std::vector<ValueId> captures_;  // ids in the parent's graph
};

}  // namespace ondine::graph
