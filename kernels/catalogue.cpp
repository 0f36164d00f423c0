#include "kernels/catalogue.h"

#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "kernels/operators.h"

// A build may keep a part of the list (cmake/OndineOperators.cmake).
#ifndef ONDINE_OPERATOR_LIST
#define ONDINE_OPERATOR_LIST "kernels/operators.inc"
#endif

namespace ondine::kernels {
namespace {

// An explicit list: self-registering objects of a static archive are dropped by the linker. A plain
// array, since clang deduces the type of a std::array from 256 elements at most.
using Listed = std::pair<const graph::OpDef*, std::string_view>;
constexpr Listed listed[]{
#define ONDINE_OPERATOR(name) {&ops::name, #name},
#include ONDINE_OPERATOR_LIST
#undef ONDINE_OPERATOR
};

}  // namespace

graph::Catalogue catalogue() {
  std::array<const graph::OpDef*, std::size(listed)> operators;
  for (std::size_t i = 0; i < std::size(listed); ++i) operators[i] = listed[i].first;
  return graph::Catalogue(operators);
}

std::string_view identifier(const graph::OpDef& op) noexcept {
  for (const auto& [one, name] : listed) {
    if (one == &op) return name;
  }
  return {};
}

}  // namespace ondine::kernels
