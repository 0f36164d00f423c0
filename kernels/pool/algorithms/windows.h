// How the implementations of pooling walk over windows.
#pragma once

#include <algorithm>

#include "core/stop.h"
#include "kernels/common/grain.h"
#include "kernels/pool/algorithms/algorithms.h"
#include "kernels/simd/pool/pool_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

struct Taps {
  std::int64_t first;
  std::int64_t last;  // exclusive
};

// Taps k < kernel for which start + k dilation may be in [low, high), for starts in [least, most].
// Only these are visited: attributes may ask for windows of any size.
inline Taps taps_between(std::int64_t least, std::int64_t most, std::int64_t low, std::int64_t high,
                         std::int64_t kernel, std::int64_t dilation) {
  if (least >= low && most + (kernel - 1) * dilation < high) return {0, kernel};  // no division
  const std::int64_t first = most < low ? (low - most + dilation - 1) / dilation : 0;
  const std::int64_t last = least < high ? (high - least + dilation - 1) / dilation : 0;
  return {first, std::max(first, std::min(kernel, last))};
}

inline Taps taps_inside(const PoolShape& s, std::size_t dim, std::int64_t o) {
  const std::int64_t start = o * s.stride[dim] - s.pad[dim];
  return taps_between(start, start, 0, s.in[dim], s.kernel[dim], s.dilation[dim]);
}

// body(offset of the input row) for every row of the window at (od, oh) that lies inside, in order.
template <class Body>
void for_rows_at(const PoolShape& s, std::int64_t od, std::int64_t oh, Body&& body) {
  const Taps deep = taps_inside(s, 0, od);
  const Taps high = taps_inside(s, 1, oh);
  for (std::int64_t kd = deep.first; kd < deep.last; ++kd) {
    const std::int64_t d = od * s.stride[0] + kd * s.dilation[0] - s.pad[0];
    for (std::int64_t kh = high.first; kh < high.last; ++kh) {
      const std::int64_t h = oh * s.stride[1] + kh * s.dilation[1] - s.pad[1];
      body((d * s.in[1] + h) * s.in[2]);
    }
  }
}

// body(od, oh, first output of the row)
template <class Body>
void for_output_rows(const PoolShape& s, Body&& body) {
  for (std::int64_t od = 0; od < s.out[0]; ++od) {
    for (std::int64_t oh = 0; oh < s.out[1]; ++oh) body(od, oh, (od * s.out[1] + oh) * s.out[2]);
  }
}

// Columns between the first and the last window of a part. Windows far apart have no taps in
// common.
inline constexpr std::int64_t part_columns = 65'536;
inline constexpr std::int64_t joined_columns = pool_span - pool_span / 4;

// Long output rows are worked on in parts: body(first output, row whose outputs start there).
template <class Body>
void for_parts(const PoolShape& s, std::int64_t columns, Body&& body) {
  const std::int64_t most = std::clamp<std::int64_t>(columns / s.stride[2], 1, pool_outputs);
  for (std::int64_t from = 0; from < s.out[2]; from += most) {
    const std::int64_t count = std::min(most, s.out[2] - from);
    const std::int64_t start = from * s.stride[2] - s.pad[2];
    const Taps taps = taps_between(start, start + (count - 1) * s.stride[2], 0, s.in[2],
                                   s.kernel[2], s.dilation[2]);
    body(from, PoolRow{s.in[2], count, taps.last - taps.first, s.stride[2], s.dilation[2],
                       -start - taps.first * s.dilation[2]});
  }
}

// body(row with some of the taps) for parts of a row's windows, in the order of the taps.
template <class Body>
void for_taps(const PoolRow& row, Body&& body) {
  for_pieces(row.kernel, row.out_w, [&](std::int64_t first, std::int64_t last) {
    PoolRow part = row;
    part.kernel = last - first;
    part.pad -= first * row.dilation;
    body(part);
  });
}

inline std::int64_t pool_grain(const PoolShape& s) {
  std::int64_t work = volume(s.out);
  for (std::size_t dim = 0; dim < 3 && work < elementwise_grain; ++dim) {
    work *= std::min(s.kernel[dim], elementwise_grain);
  }
  return std::max<std::int64_t>(
      1, 2 * elementwise_grain / std::max<std::int64_t>(1, work + volume(s.in)));
}

// Whether lines of windows can be joined at once (PoolKernels::max_plane and sum_window). Outputs
// far apart are taken from whole vectors: a few of them do not pay for that.
inline bool has_joined_lines(const PoolShape& s) {
  constexpr std::int64_t near_stride = 2, least_outputs = 16;
  if (s.stride[2] > pool_joined_stride) return false;
  if (s.stride[2] > near_stride && s.out[2] < least_outputs) return false;
  return s.kernel[0] == 1 && s.in[0] == 1 && s.out[0] == 1 && s.pad[0] == 0 &&
         s.kernel[2] <= pool_span / 4 && s.dilation[2] <= pool_span / (4 * s.kernel[2]);
}

// The lines that lie inside of the windows at output row oh: the offset of the first, the distance
// from one to the next and their number.
struct Lines {
  std::int64_t first, step, count;
};
inline Lines lines_at(const PoolShape& s, std::int64_t oh) {
  const Taps high = taps_inside(s, 1, oh);
  const std::int64_t h = oh * s.stride[1] + high.first * s.dilation[1] - s.pad[1];
  return {h * s.in[2], s.dilation[1] * s.in[2], high.last - high.first};
}

// An implementation that works on each plane by itself.
template <class T>
class PoolAlgorithm : public Implementation<PoolArgs<T>> {
 public:
  PoolAlgorithm(const PoolDesc& desc, const SimdTables& kernels)
      : desc_(desc), set_(tables_of<T>(kernels)), grain_(pool_grain(desc.shape)) {}

 protected:
  template <class Plane>
  void for_planes(ThreadPool& pool, Plane&& plane) const {
    pool.for_chunks(desc_.shape.planes, grain_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) plane(i);
    });
  }
  std::int64_t in_plane() const { return volume(desc_.shape.in); }
  std::int64_t out_plane() const { return volume(desc_.shape.out); }

  PoolDesc desc_;
  const SimdTablesOf<T>& set_;

 private:
  std::int64_t grain_;
};

}  // namespace ondine::math
