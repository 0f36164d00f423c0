// How integer convolutions read their input.
#pragma once

#include <vector>

#include "kernels/conv/conv_desc.h"
#include "kernels/simd/matmul/int8_gemm_table.h"

namespace ondine::math {

// Planes of the input, padded and split into the phases of the strides, so that each tap of the
// window reads one contiguous row for all positions of an output plane. The positions between the
// end of a row of the output and that of the plane belong to no element.
class Int8Planes {
 public:
  explicit Int8Planes(const ConvShape& shape);

  bool in_place() const noexcept { return in_place_; }        // the input is its padded planes
  std::int64_t size() const noexcept { return size_; }        // of all phases of a channel
  const SpatialDims& dims() const noexcept { return dims_; }  // of a phase
  std::int64_t positions() const noexcept { return positions_; }
  const std::vector<std::int64_t>& taps() const noexcept { return taps_; }  // offsets in a plane

  void copy(const std::uint8_t* from, std::uint8_t* to, std::uint8_t outside,
            const Int8GemmKernels& gemm) const;

 private:
  void copy_phase(const std::uint8_t* from, std::uint8_t* to, const SpatialDims& phase,
                  const Int8GemmKernels& gemm) const;

  ConvShape shape_;
  SpatialDims phases_{1, 1, 1};
  SpatialDims dims_{1, 1, 1};
  bool in_place_ = true;
  std::int64_t size_ = 0;
  std::int64_t positions_ = 0;
  std::vector<std::int64_t> taps_;
};

// Int8Windows for each block of an output plane, without gaps: from padded planes, or from the
// input itself where all strides are 1, for each tap then.
class Int8BlockWindows {
 public:
  explicit Int8BlockWindows(const ConvShape& shape);  // of the input
  explicit Int8BlockWindows(const Int8Planes& planes, const ConvShape& shape);

  // Estimated bytes of the windows of the input itself.
  static double bytes_by_tap(const ConvShape& shape);

  // Windows of block i; planes, plane_size, channels, outside and flip are left to the caller.
  Int8Windows of_block(std::int64_t i) const;

 private:
  void add(std::int64_t lane, std::int64_t count, std::int64_t offset);
  // Calls row(d, h, first column, count, lane) for the parts of rows of the output in block i.
  template <class Row>
  static void for_rows(const SpatialDims& out, std::int64_t i, Row&& row);

  std::vector<Int8Segment> segments_;
  std::vector<std::int32_t> lists_;  // where the segments of each list begin
  std::vector<std::int64_t> tap_offsets_;
  bool by_tap_ = false;  // a list for each tap, or one for all
};

// to[0, n) = from[0, n). Rows of planes are short: a call of memcpy would cost more.
void copy_short_row(std::uint8_t* to, const std::uint8_t* from, std::int64_t n);

}  // namespace ondine::math
