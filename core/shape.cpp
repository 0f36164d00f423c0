#include <ondine/shape.h>

#include <algorithm>

#include "core/message.h"

namespace ondine {

Shape::Shape(std::span<const std::int64_t> extents) {
  for (const auto extent : extents) push_back(extent);
}

Shape Shape::filled(std::size_t rank, std::int64_t extent) {
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(extent);
  return shape;
}

void Shape::push_back(std::int64_t extent) {
  if (rank_ == max_rank) fail(ErrorCode::limit, "rank above ", max_rank);
  if (extent < 0) fail(ErrorCode::mismatch, "dim ", extent, " is negative");
  extents_[rank_++] = extent;
}

std::int64_t Shape::size() const { return size(0, rank_); }

// The nonzero dims are bounded in empty tensors too, so that what is computed from them, such as
// strides in bytes, fits 64 bits.
std::int64_t Shape::size(std::size_t first, std::size_t last) const {
  constexpr std::int64_t largest = std::int64_t{1} << 56;
  std::int64_t product = 1;
  bool empty = false;
  for (std::size_t i = first; i < last; ++i) {
    if (extents_[i] == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, extents_[i], &product) || product > largest) {
      fail(ErrorCode::limit, "shape ", *this,
           " has more than 2^56 elements, not counting dims of 0");
    }
  }
  return empty ? 0 : product;
}

std::string Shape::to_string() const {
  std::string out = "[";
  for (std::size_t i = 0; i < rank_; ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(extents_[i]);
  }
  return out + "]";
}

bool operator==(const Shape& a, const Shape& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace ondine
