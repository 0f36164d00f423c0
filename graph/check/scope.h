// Scope: the names visible at one point of a model definition.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "graph/ir/document.h"
#include "graph/ir/name_table.h"

namespace ondine::graph {

// Names of one graph, nested in the scope of the enclosing graph. The model's strings and the outer
// scope must outlive it.
class Scope {
 public:
  struct Definition {
    const ValueDef* input = nullptr;
    const Tensor* initializer = nullptr;
    const SparseTensorDef* sparse = nullptr;
    const NodeDef* node = nullptr;
    bool formal = false;  // an input of a function
    // Numbers of nodes, in the order in which they are checked: the last one that was before the
    // name was defined, and the first one that reads it.
    std::uint32_t made = 0;
    mutable std::uint32_t first_read = std::numeric_limits<std::uint32_t>::max();

    bool has_value() const noexcept { return initializer != nullptr || sparse != nullptr; }
  };

  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  const Scope* outer() const noexcept { return outer_; }
  // Looks in this graph only; nullptr when absent.
  const Definition* find_here(std::string_view name) const;
  // Looks in this graph, then in enclosing graphs; nullptr when absent.
  const Definition* find(std::string_view name) const;
  // This graph's entry for the name, added if new. Adding one makes references to others stale.
  Definition& define(std::string_view name) { return *names_.add(name).first; }

 private:
  const Scope* outer_;
  NameTable<Definition> names_;
};

// "node 'a' (Add)", "an initializer", "an input".
std::string describe(const Scope::Definition& definition);

}  // namespace ondine::graph
