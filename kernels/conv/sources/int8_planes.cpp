#include "kernels/conv/sources/int8_planes.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {
namespace {

std::int64_t offset_in(const SpatialDims& dims, const SpatialDims& x) {
  return (x[0] * dims[1] + x[1]) * dims[2] + x[2];
}

template <class Body>
void for_points(const SpatialDims& dims, Body&& body) {
  SpatialDims x{};
  for (x[0] = 0; x[0] < dims[0]; ++x[0]) {
    for (x[1] = 0; x[1] < dims[1]; ++x[1]) {
      for (x[2] = 0; x[2] < dims[2]; ++x[2]) body(x);
    }
  }
}

}  // namespace

void copy_short_row(std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
  const auto pieces = [&]<std::int64_t size>(std::integral_constant<std::int64_t, size>) {
    for (std::int64_t i = 0; i + size <= n; i += size) std::memcpy(to + i, from + i, size);
    std::memcpy(to + n - size, from + n - size, size);  // some of them once more
  };
  if (n >= 16) return pieces(std::integral_constant<std::int64_t, 16>());
  if (n >= 4) return pieces(std::integral_constant<std::int64_t, 4>());
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}

Int8Planes::Int8Planes(const ConvShape& s) : shape_(s) {
  for (std::size_t i = 0; i < 3; ++i) {
    phases_[i] = std::min(s.stride[i], s.reach(i) + 1);
    dims_[i] = s.out[i] + s.reach(i) / s.stride[i];
    in_place_ = in_place_ && s.stride[i] == 1 && s.pad[i] == 0 && dims_[i] == s.in[i];
  }
  size_ = volume(phases_) * volume(dims_);
  for_points(s.kernel, [&](const SpatialDims& k) {
    SpatialDims phase{};
    SpatialDims offset{};
    for (std::size_t i = 0; i < 3; ++i) {
      phase[i] = k[i] * s.dilation[i] % s.stride[i];
      offset[i] = k[i] * s.dilation[i] / s.stride[i];
    }
    taps_.push_back(offset_in(phases_, phase) * volume(dims_) + offset_in(dims_, offset));
  });
  positions_ = offset_in(dims_, {s.out[0] - 1, s.out[1] - 1, s.out[2] - 1}) + 1;
}

void Int8Planes::copy(const std::uint8_t* from, std::uint8_t* to, std::uint8_t outside,
                      const Int8GemmKernels& gemm) const {
  std::memset(to, outside, static_cast<std::size_t>(size_));
  for_points(phases_, [&](const SpatialDims& phase) {
    copy_phase(from, to, phase, gemm);
    to += volume(dims_);
  });
}

void Int8Planes::copy_phase(const std::uint8_t* from, std::uint8_t* to, const SpatialDims& phase,
                            const Int8GemmKernels& gemm) const {
  const ConvShape& s = shape_;
  const std::int64_t stride = s.stride[2];
  const std::int64_t shift = phase[2] - s.pad[2];
  // Columns [low, high) lie in the input.
  const std::int64_t low = std::clamp<std::int64_t>(divide_up(-shift, stride), 0, dims_[2]);
  const std::int64_t high =
      std::clamp<std::int64_t>(divide_up(s.in[2] - shift, stride), low, dims_[2]);
  for (std::int64_t d = 0; d < dims_[0]; ++d) {
    const std::int64_t z = d * s.stride[0] + phase[0] - s.pad[0];
    for (std::int64_t h = 0; h < dims_[1]; ++h, to += dims_[2]) {
      const std::int64_t y = h * s.stride[1] + phase[1] - s.pad[1];
      if (z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1] || low == high) continue;
      const std::uint8_t* const row = from + (z * s.in[1] + y) * s.in[2] + low * stride + shift;
      if (stride == 1) {
        copy_short_row(to + low, row, high - low);
      } else {
        gemm.copy_strided(to + low, row, stride, high - low);
      }
    }
  }
}

template <class Row>
void Int8BlockWindows::for_rows(const SpatialDims& out, std::int64_t i, Row&& row) {
  const std::int64_t first = i * int8_block;
  const std::int64_t end = std::min(first + int8_block, volume(out));
  for (std::int64_t p = first; p < end;) {
    const std::int64_t column = p % out[2];
    const std::int64_t count = std::min(out[2] - column, end - p);
    row(p / out[2] / out[1], p / out[2] % out[1], column, count, p - first);
    p += count;
  }
}

double Int8BlockWindows::bytes_by_tap(const ConvShape& s) {
  const std::int64_t rows_of_block = divide_up(int8_block, std::max<std::int64_t>(1, s.out[2]));
  const std::int64_t list = rows_of_block * std::int64_t{sizeof(Int8Segment)} + 4;
  const auto taps = static_cast<double>(volume(s.kernel));
  return taps * static_cast<double>(divide_up(volume(s.out), int8_block) * list);
}

Int8BlockWindows::Int8BlockWindows(const ConvShape& s) : by_tap_(true) {
  tap_offsets_.assign(static_cast<std::size_t>(volume(s.kernel)), 0);
  for (std::int64_t i = 0; i < divide_up(volume(s.out), int8_block); ++i) {
    for_points(s.kernel, [&](const SpatialDims& k) {
      lists_.push_back(static_cast<std::int32_t>(segments_.size()));
      for_rows(s.out, i,
               [&](std::int64_t d, std::int64_t h, std::int64_t column, std::int64_t count,
                   std::int64_t lane) {
                 const std::int64_t z = d + k[0] * s.dilation[0] - s.pad[0];
                 const std::int64_t y = h + k[1] * s.dilation[1] - s.pad[1];
                 const std::int64_t x = column + k[2] * s.dilation[2] - s.pad[2];
                 if (z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1]) return;
                 const std::int64_t low = std::max<std::int64_t>(x, 0);
                 const std::int64_t high = std::min(x + count, s.in[2]);
                 if (low < high) add(lane + low - x, high - low, offset_in(s.in, {z, y, low}));
               });
    });
  }
  lists_.push_back(static_cast<std::int32_t>(segments_.size()));
}

Int8BlockWindows::Int8BlockWindows(const Int8Planes& planes, const ConvShape& s)
    : tap_offsets_(planes.taps()) {
  for (std::int64_t i = 0; i < divide_up(volume(s.out), int8_block); ++i) {
    lists_.push_back(static_cast<std::int32_t>(segments_.size()));
    for_rows(s.out, i,
             [&](std::int64_t d, std::int64_t h, std::int64_t column, std::int64_t count,
                 std::int64_t lane) {
               add(lane, count, offset_in(planes.dims(), {d, h, column}));
             });
  }
  lists_.push_back(static_cast<std::int32_t>(segments_.size()));
}

void Int8BlockWindows::add(std::int64_t lane, std::int64_t count, std::int64_t offset) {
  const std::int64_t origin = offset - lane;  // of lane 0
  const bool first = segments_.size() == static_cast<std::size_t>(lists_.back());
  if (!first && segments_.back().offset == origin &&
      segments_.back().lane + segments_.back().count == lane) {
    count += segments_.back().count;
    lane = segments_.back().lane;
    segments_.pop_back();
  }
  const std::uint64_t mask = ~std::uint64_t{0} >> (int8_block - count) << lane;
  segments_.push_back(
      {origin, mask, static_cast<std::int32_t>(lane), static_cast<std::int32_t>(count)});
}

Int8Windows Int8BlockWindows::of_block(std::int64_t i) const {
  const auto taps = static_cast<std::int64_t>(tap_offsets_.size());
  Int8Windows windows{};
  windows.taps = taps;
  windows.tap_offsets = tap_offsets_.data();
  windows.segments = segments_.data();
  windows.lists = lists_.data() + i * (by_tap_ ? taps : 1);
  windows.list_step = by_tap_ ? 1 : 0;
  return windows;
}

}  // namespace ondine::math
