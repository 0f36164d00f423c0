// The names that are visible at one point of a written model.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "graph/ir/document.h"

namespace ondine::graph {

// Names of one graph, inside the scope of the graph around it. Refers to the model's strings and to
// the outer scope, which outlive it.
class Scope {
 public:
  struct Definition {
    const ValueDef* input = nullptr;
    const Tensor* initializer = nullptr;
    const SparseTensorDef* sparse = nullptr;
    const NodeDef* node = nullptr;
    bool formal = false;  // an input of a function

    bool has_value() const noexcept { return initializer != nullptr || sparse != nullptr; }
  };

  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  const Scope* outer() const noexcept { return outer_; }
  // In this graph only; nullptr when it is not there.
  const Definition* find_here(std::string_view name) const;
  // Here or in a graph around.
  const Definition* find(std::string_view name) const;
  // The entry of this graph, new or not.
  Definition& define(std::string_view name) { return names_[name]; }

 private:
  const Scope* outer_;
  std::unordered_map<std::string_view, Definition> names_;
};

// "node 'a' (Add)", "an initializer", "an input".
std::string describe(const Scope::Definition& definition);

}  // namespace ondine::graph
