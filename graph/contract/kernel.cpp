#include "graph/contract/kernel.h"

namespace ondine::graph {

Shape BindContext::shape(std::size_t i) const {
  auto shape = input_type(i).shape();
  if (!shape) fail(ErrorCode::internal, "input ", i, " has no shape yet");
  return *shape;
}

}  // namespace ondine::graph
