#include "kernels/catalogue.h"

#include <array>

#include "kernels/ops/list.h"

namespace ondine::kernels {

graph::Catalogue catalogue() {
  // An explicit list: self-registering objects of a static archive are dropped by the linker.
  static constexpr std::array operators{
#define ONDINE_OPERATOR(name) &ops::name,
#include "kernels/ops/list.inc"
#undef ONDINE_OPERATOR
  };
  return graph::Catalogue(operators);
}

}  // namespace ondine::kernels
