// Ordered lists of the implementations of a primitive.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/message.h"

namespace ondine::math {

struct SimdTables;

// One implementation: its name, whether it supports a descriptor and is worth using for it, and how
// it is made for one that it supports. Both are functions of the descriptor and the instruction set
// alone, so that results have the same bits for any number of threads.
template <class Desc, class Implementation>
struct ImplementationEntry {
  std::string_view name;
  bool (*supports)(const Desc& desc, const SimdTables& kernels);
  std::unique_ptr<const Implementation> (*make)(const Desc& desc, const SimdTables& kernels);
};

// `supports` of the general implementation, the last of a list.
template <class Desc>
bool supports_any(const Desc&, const SimdTables&) {
  return true;
}

// The first of a list that supports `desc`; a list as a whole supports every descriptor.
template <class Desc, class Implementation>
const ImplementationEntry<Desc, Implementation>& first_supporting(
    std::span<const ImplementationEntry<Desc, Implementation>> list, const Desc& desc,
    const SimdTables& kernels) {
  for (const auto& entry : list) {
    if (entry.supports(desc, kernels)) return entry;
  }
  fail(ErrorCode::internal, "no implementation supports a descriptor");
}

// The one called `name`. Error(unsupported) where there is none or it does not support `desc`.
template <class Desc, class Implementation>
const ImplementationEntry<Desc, Implementation>& supporting_by_name(
    std::span<const ImplementationEntry<Desc, Implementation>> list, std::string_view name,
    const Desc& desc, const SimdTables& kernels) {
  for (const auto& entry : list) {
    if (entry.name == name && entry.supports(desc, kernels)) return entry;
  }
  fail(ErrorCode::unsupported, "no implementation ", name, " that supports the descriptor");
}

}  // namespace ondine::math
