#include <ondine/data_limits.h>

#include <algorithm>

namespace ondine {

Limits data_limits() noexcept {
  Limits limits;
  limits.tensor_bytes = std::min(limits.tensor_bytes, limits.arena_bytes);
  limits.weight_bytes = std::min(limits.weight_bytes, limits.arena_bytes);
  return limits;
}

}  // namespace ondine
