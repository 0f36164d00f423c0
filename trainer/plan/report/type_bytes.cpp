#include <algorithm>

#include "core/element_bytes.h"
#include "trainer/plan/schedule/order.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

constexpr std::int64_t max_elements = std::int64_t{1} << 56;

std::size_t bytes_of(const Type& type) {
  if (!has_fixed_size(type)) return 0;
  std::int64_t size = 1;
  for (const Dim dim : *type.dims) {
    // Shape::size says what does not fit.
    const bool fits = !__builtin_mul_overflow(size, dim.size(), &size);
    if (dim.size() == 0 || !fits || size > max_elements) {
      size = type.shape()->size();
      break;
    }
  }
  return element_bytes(size, type.dtype);
}

bool has_fixed_size(const Type& type) {
  return type.is_tensor() && type.dtype != DType::string && type.dims &&
         type.dims->size() <= Shape::max_rank &&
         std::all_of(type.dims->begin(), type.dims->end(), [](Dim dim) { return dim.known(); });
}

}  // namespace ondine::trainer
