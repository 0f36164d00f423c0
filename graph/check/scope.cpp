#include "graph/check/scope.h"

#include "graph/check/location.h"

namespace ondine::graph {

const Scope::Definition* Scope::find_here(std::string_view name) const { return names_.find(name); }

const Scope::Definition* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    if (const auto* found = scope->find_here(name)) return found;
  }
  return nullptr;
}

std::string describe(const Scope::Definition& definition) {
  if (definition.node != nullptr) return describe(*definition.node);
  return definition.has_value() ? "an initializer" : "an input";
}

}  // namespace ondine::graph
