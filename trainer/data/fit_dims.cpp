#include <algorithm>

#include "trainer/data/column.h"

namespace ondine::data {
namespace {

Dims without_ones(std::span<const std::int64_t> dims) {
  Dims result;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(result),
               [](std::int64_t dim) { return dim != 1; });
  return result;
}

// Each dim of `coarse` is the product of neighbouring dims of `fine`, in order.
bool merges(const Dims& fine, const Dims& coarse) {
  auto next = fine.begin();
  for (const std::int64_t dim : coarse) {
    std::int64_t product = 1;
    while (product != dim && next != fine.end()) product *= *next++;
    if (product != dim) return false;
  }
  return next == fine.end();
}

}  // namespace

std::optional<Dims> fit_dims(std::span<const std::int64_t> wanted,
                             std::span<const std::int64_t> stored) {
  const bool same = std::equal(wanted.begin(), wanted.end(), stored.begin(), stored.end(),
                               [](std::int64_t a, std::int64_t b) { return a < 0 || a == b; });
  if (same) return Dims(stored.begin(), stored.end());
  Dims dims(wanted.begin(), wanted.end());
  if (const auto open = std::find_if(dims.begin(), dims.end(), [](auto dim) { return dim < 0; });
      open != dims.end()) {
    *open = 1;
    if (std::any_of(open, dims.end(), [](auto dim) { return dim < 0; })) return {};
    const std::int64_t known = Shape(dims).size();
    const std::int64_t elements = Shape(stored).size();
    if (known == 0 || elements % known != 0) return {};
    *open = elements / known;
  }
  const Dims input = without_ones(dims);
  const Dims row = without_ones(stored);
  if (std::count(row.begin(), row.end(), 0) != 0) return {};
  if (!merges(row, input) && !merges(input, row)) return {};
  return dims;
}

}  // namespace ondine::data
