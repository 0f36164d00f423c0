// to[i . to_strides] = from[i . from_strides] over a box of indices i: shared by all operators that
// only move elements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ondine/shape.h>

#include "core/parallel.h"
#include "kernels/common/box_walk.h"
#include "kernels/common/visit_dtype.h"

namespace ondine::kernels {

// body.template operator()<T>() with a T of the size of `dtype`: std::string for strings, otherwise
// a trivially copyable word.
template <class Body>
decltype(auto) visit_size(DType dtype, Body&& body) {
  if (dtype == DType::string) return body.template operator()<std::string>();
  switch (ondine::size_of(dtype)) {
    case 1:
      return body.template operator()<std::uint8_t>();
    case 2:
      return body.template operator()<std::uint16_t>();
    case 4:
      return body.template operator()<std::uint32_t>();
    case 8:
      return body.template operator()<std::uint64_t>();
    case 16:
      return body.template operator()<std::complex<double>>();
    default:
      fail(ErrorCode::unsupported, "no elements of dtype ", dtype, " to move");
  }
}

// Row-major strides in elements.
std::vector<std::int64_t> row_major(const Shape& shape);

class StridedCopy {
 public:
  using Axis = BoxAxis;

  StridedCopy() = default;
  // Up to BoxWalk::max_axes axes, outermost first. Offsets in elements.
  StridedCopy(DType dtype, std::span<const Axis> axes, std::int64_t from_offset = 0,
              std::int64_t to_offset = 0);

  // The two ranges must not overlap. Does not allocate.
  void run(ThreadPool& pool, const void* from, void* to) const;

 private:
  DType dtype_ = DType::undefined;
  std::vector<Axis> axes_;  // merged where possible, all of size above 1
  std::int64_t from_offset_ = 0;
  std::int64_t to_offset_ = 0;
  bool empty_ = true;
};

// `n` elements, one after the other.
void copy_elements(ThreadPool& pool, DType dtype, std::int64_t n, const void* from, void* to);
// The element at `value`, or zero (the empty string) when that is nullptr, `n` times.
void fill_elements(ThreadPool& pool, DType dtype, std::int64_t n, const void* value, void* to);

}  // namespace ondine::kernels
