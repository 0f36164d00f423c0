#include <ondine/shape.h>

#include <algorithm>
#include <limits>

#include "core/message.h"

namespace ondine {

Shape::Shape(std::span<const std::int64_t> dims) {
  for (const auto dim : dims) push_back(dim);
}

Shape::Shape(const Shape& other) : inline_(other.inline_), rank_(other.rank_) {
  if (!other.all_) return;
  all_ = std::make_unique<std::int64_t[]>(max_rank);
  std::copy(other.begin(), other.end(), all_.get());
}

Shape& Shape::operator=(const Shape& other) {
  if (!all_ && !other.all_) {
    inline_ = other.inline_;
    rank_ = other.rank_;
    return *this;
  }
  return *this = Shape(other);
}

Shape Shape::filled(std::size_t rank, std::int64_t dim) {
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(dim);
  return shape;
}

void Shape::push_back(std::int64_t dim) {
  if (rank_ == max_rank) fail(ErrorCode::limit, "rank above ", max_rank);
  if (dim < 0) fail(ErrorCode::mismatch, "dim ", dim, " is negative");
  if (rank_ == inline_rank) {
    all_ = std::make_unique<std::int64_t[]>(max_rank);
    std::copy(inline_.begin(), inline_.end(), all_.get());
  }
  data()[rank_++] = dim;
}

std::int64_t Shape::size() const { return size(0, rank_); }

// The nonzero dims are bounded in empty tensors too, so that what is computed from them, such as
// strides in bytes, fits 64 bits, and what is cast to the type of addresses fits it.
std::int64_t Shape::size(std::size_t first, std::size_t last) const {
  constexpr std::int64_t largest = std::int64_t{1} << 56;
  constexpr std::int64_t reached = std::numeric_limits<std::ptrdiff_t>::max();
  std::int64_t product = 1;
  bool empty = false;
  for (std::size_t i = first; i < last; ++i) {
    const std::int64_t dim = (*this)[i];
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, dim, &product) || product > largest) {
      fail(ErrorCode::limit, "shape ", *this,
           " has more than 2^56 elements, not counting dims of 0");
    }
  }
  if (empty && product > reached) {
    fail(ErrorCode::limit, "shape ", *this, " has more than ", reached,
         " elements, not counting dims of 0");
  }
  return empty ? 0 : product;
}

std::string Shape::to_string() const {
  std::string out = "[";
  for (std::size_t i = 0; i < rank_; ++i) {
    if (i > 0) out += ", ";
    out += std::to_string((*this)[i]);
  }
  return out + "]";
}

bool operator==(const Shape& a, const Shape& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace ondine
