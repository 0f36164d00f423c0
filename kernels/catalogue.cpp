#include "kernels/catalogue.h"

#include <array>
#include <utility>

#include "kernels/ops/list.h"

// A build may keep a part of the list (cmake/OndineOperators.cmake).
#ifndef ONDINE_OPERATOR_LIST
#define ONDINE_OPERATOR_LIST "kernels/ops/list.inc"
#endif

namespace ondine::kernels {
namespace {

// An explicit list: self-registering objects of a static archive are dropped by the linker.
constexpr std::array listed{
#define ONDINE_OPERATOR(name) std::pair(&ops::name, std::string_view(#name)),
#include ONDINE_OPERATOR_LIST
#undef ONDINE_OPERATOR
};

}  // namespace

graph::Catalogue catalogue() {
  std::array<const graph::OpDef*, listed.size()> operators;
  for (std::size_t i = 0; i < listed.size(); ++i) operators[i] = listed[i].first;
  return graph::Catalogue(operators);
}

std::string_view identifier(const graph::OpDef& op) noexcept {
  for (const auto& [one, name] : listed) {
    if (one == &op) return name;
  }
  return {};
}

}  // namespace ondine::kernels
