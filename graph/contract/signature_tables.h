// The tables behind graph/contract/signature.h. Private to signature.cpp and the generated data.
#pragma once

#include "graph/contract/signature.h"

namespace ondine::graph::tables {

extern const std::span<const std::string_view> domains;
extern const std::span<const TypeSet> type_sets;
extern const std::span<const TypeConstraint> constraints;
extern const std::span<const Parameter> parameters;
extern const std::span<const AttributeSpec> attributes;
extern const std::span<const Signature> signatures;

// Abbreviations for table rows: Single, Optional and Variadic parameters; attributes that are
// optional (A), Required or have a Default.
constexpr Parameter S(std::string_view name, std::uint8_t constraint, int mark) {
  return {name, constraint, Option::single, static_cast<Differentiation>(mark), 1, true};
}
constexpr Parameter O(std::string_view name, std::uint8_t constraint, int mark) {
  return {name, constraint, Option::optional, static_cast<Differentiation>(mark), 0, true};
}
constexpr Parameter V(std::string_view name, std::uint8_t constraint, int mark,
                      std::uint8_t min_arity, bool homogeneous) {
  return {name,      constraint, Option::variadic, static_cast<Differentiation>(mark),
          min_arity, homogeneous};
}
constexpr AttributeSpec A(std::string_view name, AttributeKind kind) {
  return {name, kind, false, false, {}};
}
constexpr AttributeSpec R(std::string_view name, AttributeKind kind) {
  return {name, kind, true, false, {}};
}
constexpr AttributeSpec D(std::string_view name, AttributeKind kind, std::string_view value) {
  return {name, kind, false, true, value};
}

}  // namespace ondine::graph::tables
