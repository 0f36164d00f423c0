// Attributes that the functions of a model require or accept from a call.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/check/function_table.h"

namespace ondine::graph {

struct Signature;

// Refers to the functions, which outlive it.
class FunctionAttributes {
 public:
  struct Entry {
    AttributeKind default_kind = AttributeKind::undefined;  // undefined: there is no default
    std::vector<AttributeKind> kinds;  // those that the function's body uses it as
    // An operator of the body needs it, or another function does to which the body passes it on.
    bool required = false;
  };

  FunctionAttributes() = default;
  explicit FunctionAttributes(const FunctionTable& functions);

  // nullptr when the function has no such attribute.
  const Entry* find(std::size_t function, std::string_view name) const;
  // The names of its required attributes.
  const std::vector<std::string_view>& required(std::size_t function) const {
    return required_[function];
  }

 private:
  // The entries of an attribute that one function passes on to another, by the other's entry.
  using PassedOn = std::unordered_multimap<const Entry*, Entry*>;

  Entry* entry(std::size_t function, std::string_view name);
  // A node of `function` that calls the function `callee` or an operator with this signature.
  void read(const NodeDef& node, std::size_t function, std::optional<std::size_t> callee,
            const Signature* signature, PassedOn& passed_on);

  std::vector<std::unordered_map<std::string_view, Entry>> entries_;
  std::vector<std::vector<std::string_view>> required_;
};

}  // namespace ondine::graph
