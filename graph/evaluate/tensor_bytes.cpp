#include "graph/evaluate/tensor_bytes.h"

#include "core/checked.h"

namespace ondine::graph {

void require_tensor_fits(const Type& type, const Limits& limits) {
  const auto shape = type.shape();
  if (!shape) return;
  const std::int64_t bytes =
      checked_mul(shape->size(), static_cast<std::int64_t>(size_of(type.dtype)));
  if (static_cast<std::uint64_t>(bytes) > limits.tensor_bytes) {
    fail(ErrorCode::limit, "a tensor ", *shape, " of ", type.dtype, " has ", bytes,
         " bytes, the limit is ", limits.tensor_bytes);
  }
}

}  // namespace ondine::graph
