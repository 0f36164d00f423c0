#include "trainer/fit/score/class_axis.h"

#include <cstdint>

namespace ondine::fit {
namespace {

// The dims of a row that are not 1, but for `left_out`.
std::vector<std::int64_t> dims_of_row(const Shape& shape, std::size_t left_out) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 1; i < shape.rank(); ++i) {
    if (i != left_out && shape[i] != 1) result.push_back(shape[i]);
  }
  return result;
}

// Whether runs of neighbouring `dims` have the products `merged`.
bool merges_into(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& merged) {
  std::size_t at = 0;
  for (const std::int64_t wanted : merged) {
    std::int64_t product = 1;
    while (at < dims.size() && product < wanted) product *= dims[at++];
    if (product != wanted) return false;
  }
  return at == dims.size();
}

}  // namespace

bool fits_class_axis(const Shape& output, const Shape& labels, std::size_t axis) {
  return axis < output.rank() && output.size() == labels.size() * output[axis];
}

std::vector<std::size_t> possible_class_axes(const Shape& output, const Shape& labels) {
  std::vector<std::size_t> result;
  if (labels.rank() == 0 || output.rank() < 2) return result;
  std::vector<std::size_t> of_one_class;
  for (std::size_t axis = 1; axis < output.rank(); ++axis) {
    if (!fits_class_axis(output, labels, axis)) continue;
    const bool same_rows = output[0] == labels[0];
    const auto dims = dims_of_row(output, axis);
    if (!(same_rows ? merges_into(dims, dims_of_row(labels, 0)) : axis == 1)) continue;
    (output[axis] == 1 ? of_one_class : result).push_back(axis);
  }
  if (result.empty() && !of_one_class.empty()) result.push_back(of_one_class.front());
  return result;
}

}  // namespace ondine::fit
