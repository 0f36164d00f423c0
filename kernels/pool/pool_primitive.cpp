#include "kernels/pool/pool_primitive.h"

#include <algorithm>
#include <limits>

#include "core/message.h"
#include "kernels/common/grain.h"
#include "kernels/simd/pool/pool_table.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

struct Taps {
  Index first;
  Index last;  // exclusive
};

// Taps k < kernel for which start + k dilation may be in [low, high), for starts in [least, most].
// Only these are visited: attributes may ask for windows of any extent.
Taps taps_between(Index least, Index most, Index low, Index high, Index kernel, Index dilation) {
  if (least >= low && most + (kernel - 1) * dilation < high) return {0, kernel};  // no division
  const Index first = most < low ? (low - most + dilation - 1) / dilation : 0;
  const Index last = least < high ? (high - least + dilation - 1) / dilation : 0;
  return {first, std::max(first, std::min(kernel, last))};
}

Taps taps_inside(const PoolShape& s, std::size_t dim, Index o) {
  const Index start = o * s.stride[dim] - s.pad[dim];
  return taps_between(start, start, 0, s.in[dim], s.kernel[dim], s.dilation[dim]);
}

Index grain_of(const PoolShape& s) {
  Index work = volume(s.out);
  for (std::size_t dim = 0; dim < 3 && work < elementwise_grain; ++dim) {
    work *= std::min(s.kernel[dim], elementwise_grain);
  }
  return std::max<Index>(1, 2 * elementwise_grain / std::max<Index>(1, work + volume(s.in)));
}

// body(offset of the input row) for every row of the window at (od, oh) that lies inside, in order.
template <class Body>
void for_rows_at(const PoolShape& s, Index od, Index oh, Body&& body) {
  const Taps deep = taps_inside(s, 0, od);
  const Taps high = taps_inside(s, 1, oh);
  for (Index kd = deep.first; kd < deep.last; ++kd) {
    const Index d = od * s.stride[0] + kd * s.dilation[0] - s.pad[0];
    for (Index kh = high.first; kh < high.last; ++kh) {
      const Index h = oh * s.stride[1] + kh * s.dilation[1] - s.pad[1];
      body((d * s.in[1] + h) * s.in[2]);
    }
  }
}

// body(od, oh, first output of the row)
template <class Body>
void for_output_rows(const PoolShape& s, Body&& body) {
  for (Index od = 0; od < s.out[0]; ++od) {
    for (Index oh = 0; oh < s.out[1]; ++oh) body(od, oh, (od * s.out[1] + oh) * s.out[2]);
  }
}

// Long output rows are worked on in parts: body(first output, row whose outputs start there).
template <class Body>
void for_parts(const PoolShape& s, Body&& body) {
  // Windows far apart have no taps in common.
  const Index most = std::clamp<Index>(65'536 / s.stride[2], 1, pool_outputs);
  for (Index from = 0; from < s.out[2]; from += most) {
    const Index count = std::min(most, s.out[2] - from);
    const Index start = from * s.stride[2] - s.pad[2];
    const Taps taps = taps_between(start, start + (count - 1) * s.stride[2], 0, s.in[2],
                                   s.kernel[2], s.dilation[2]);
    body(from, PoolRow{s.in[2], count, taps.last - taps.first, s.stride[2], s.dilation[2],
                       -start - taps.first * s.dilation[2]});
  }
}

// Elements of the window at output `o` of one dimension that count for an average.
Index counted(const PoolShape& s, std::size_t dim, Index o) {
  const Index start = o * s.stride[dim] - s.pad[dim];
  const Index low = s.count_include_pad ? -s.pad[dim] : 0;
  const Index high = s.in[dim] + (s.count_include_pad ? s.pad_end[dim] : 0);
  const Taps taps = taps_between(start, start, low, high, s.kernel[dim], s.dilation[dim]);
  return taps.last - taps.first;
}

// Elements of each window of a row that count for an average.
template <class T>
struct Counts {
  Counts(const PoolShape& s, Index from, Index count) {
    for (Index j = 0; j < count; ++j) columns[j] = static_cast<T>(counted(s, 2, from + j));
  }
  // dst = src / elements counted in the windows at (od, oh); 0 of 0 is NaN as in any mean.
  void divide(const PoolShape& s, Index od, Index oh, Index count, const T* src, T* dst) const {
    const T rows = static_cast<T>(counted(s, 0, od) * counted(s, 1, oh));
    for (Index j = 0; j < count; ++j) dst[j] = src[j] / (rows * columns[j]);
  }
  T columns[pool_outputs];
};

bool is_global(const PoolShape& s) {
  return s.kernel == s.in && s.out == SpatialDims{1, 1, 1} && s.dilation == SpatialDims{1, 1, 1} &&
         s.pad == SpatialDims{0, 0, 0};
}

// Windows of 2 x 2 that lie side by side.
bool is_squares(const PoolShape& s) {
  const SpatialDims two{1, 2, 2};
  return s.kernel == two && s.stride == two && s.pad == SpatialDims{0, 0, 0} &&
         s.dilation == SpatialDims{1, 1, 1} && s.in[0] == s.out[0] && 2 * s.out[1] <= s.in[1] &&
         2 * s.out[2] <= s.in[2] && s.in[0] == 1;
}

// Whether the windows of a row are joined line by line at once.
bool is_joined(const PoolShape& s) {
  return s.kernel[0] == 1 && s.in[0] == 1 && s.out[0] == 1 && s.pad[0] == 0 && s.stride[2] <= 2 &&
         s.kernel[2] <= pool_span / 4 && s.dilation[2] <= pool_span / (4 * s.kernel[2]);
}

// join(row, first line, distance of lines, their number, y) for the windows at output row oh, of
// which some lines are inside.
template <class T, class Join>
bool join_rows(const PoolShape& s, const PoolRow& row, Index oh, const T* plane, T* y,
               Join&& join) {
  const Taps high = taps_inside(s, 1, oh);
  if (!is_joined(s) || high.last == high.first || row.kernel < 1) return false;
  const Index h = oh * s.stride[1] + high.first * s.dilation[1] - s.pad[1];
  join(row, plane + h * s.in[2], s.dilation[1] * s.in[2], high.last - high.first, y);
  return true;
}

template <class Plane>
void for_planes(ThreadPool& pool, const PoolShape& s, Plane&& plane) {
  pool.for_chunks(s.planes, grain_of(s), [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) plane(i);
  });
}

// The maxima of a part of an output row and where they are in the plane.
template <class T>
struct Maxima {
  alignas(64) T best[pool_outputs + pool_slack];
  alignas(64) PoolCode<T> code[pool_outputs + pool_slack];

  void find(const PoolShape& s, const PoolRow& row, Index od, Index oh, const T* plane,
            bool positions, const Kernels& kernels) {
    const auto line = kernel_set<T>(kernels).pool->max_line;
    const Index n = row.out_w + pool_slack;
    std::fill(best, best + n, -std::numeric_limits<T>::infinity());
    if (positions) std::fill(code, code + n, none);
    for_rows_at(s, od, oh, [&](Index offset) {
      line(row, plane + offset, offset, best, positions ? code : nullptr);
    });
    for (Index j = 0; positions && j < row.out_w; ++j) {
      if (code[j] == none) code[j] = static_cast<PoolCode<T>>(first_inside(s, row, od, oh, j));
    }
  }

  Index position(const PoolRow& row, Index j) const {
    return static_cast<Index>(code[j]) + j * row.stride;
  }

 private:
  static constexpr PoolCode<T> none = std::numeric_limits<PoolCode<T>>::min();

  // Of a window that has nothing but -infinity.
  static Index first_inside(const PoolShape& s, const PoolRow& row, Index od, Index oh, Index j) {
    Index first = -1;
    for_rows_at(s, od, oh, [&](Index offset) {
      for (Index k = 0; first < 0 && k < row.kernel; ++k) {
        const Index column = j * row.stride + k * row.dilation - row.pad;
        if (column >= 0 && column < row.in_w) first = offset + column;
      }
    });
    return first - j * row.stride;
  }
};

template <class T>
void check_plane(const PoolShape& s) {
  if (volume(s.in) > std::numeric_limits<PoolCode<T>>::max() / 2) {
    fail(ErrorCode::limit, "max pooling of planes of ", volume(s.in), " elements");
  }
}

}  // namespace

std::string_view max_pool_name(const PoolShape& s) { return is_squares(s) ? "squares" : "rows"; }
std::string_view average_pool_name(const PoolShape& s) { return is_global(s) ? "global" : "rows"; }

template <class T>
void max_pool(ThreadPool& pool, const PoolShape& s, const T* x, T* y, Index* index,
              Index plane_step, const Kernels& kernels) {
  check_plane<T>(s);
  const Index in = volume(s.in);
  const Index out = volume(s.out);
  if (is_squares(s)) {
    const auto squares = kernel_set<T>(kernels).pool->max_squares;
    for_planes(pool, s, [&](Index i) {
      for (Index row = 0; row < s.out[1]; ++row) {
        const T* const upper = x + i * in + 2 * row * s.in[2];
        const Index at = i * out + row * s.out[2];
        squares(upper, upper + s.in[2], s.out[2], i * plane_step + 2 * row * s.in[2], s.in[2],
                y + at, index ? index + at : nullptr);
      }
    });
    return;
  }
  const auto join = kernel_set<T>(kernels).pool->max_window;
  for_planes(pool, s, [&](Index i) {
    Maxima<T> maxima;
    for_output_rows(s, [&](Index od, Index oh, Index output) {
      for_parts(s, [&](Index from, const PoolRow& row) {
        const Index at = i * out + output + from;
        if (!index && join_rows(s, row, oh, x + i * in, y + at, join)) return;
        maxima.find(s, row, od, oh, x + i * in, index != nullptr, kernels);
        std::copy(maxima.best, maxima.best + row.out_w, y + at);
        if (!index) return;
        for (Index j = 0; j < row.out_w; ++j)
          index[at + j] = i * plane_step + maxima.position(row, j);
      });
    });
  });
}

template <class T>
void max_pool_gradient(ThreadPool& pool, const PoolShape& s, const T* dy, const Index* index,
                       T* dx) {
  const Index in = volume(s.in);
  const Index out = volume(s.out);
  for_planes(pool, s, [&](Index i) {
    T* const target = dx + i * in;
    std::fill(target, target + in, T{0});
    for (Index o = i * out; o < (i + 1) * out; ++o) {
      if (index[o] >= 0 && index[o] < in) target[index[o]] += dy[o];
    }
  });
}

template <class T>
void max_pool_gradient(ThreadPool& pool, const PoolShape& s, const T* dy, const T* x, T* dx,
                       const Kernels& kernels) {
  check_plane<T>(s);
  const Index in = volume(s.in);
  const Index out = volume(s.out);
  for_planes(pool, s, [&](Index i) {
    Maxima<T> maxima;
    T* const target = dx + i * in;
    std::fill(target, target + in, T{0});
    for_output_rows(s, [&](Index od, Index oh, Index output) {
      for_parts(s, [&](Index from, const PoolRow& row) {
        maxima.find(s, row, od, oh, x + i * in, true, kernels);
        const T* const d = dy + i * out + output + from;
        for (Index j = 0; j < row.out_w; ++j) target[maxima.position(row, j)] += d[j];
      });
    });
  });
}

template <class T>
void average_pool(ThreadPool& pool, const PoolShape& s, const T* x, T* y, const Kernels& kernels) {
  const auto& set = kernel_set<T>(kernels);
  const Index in = volume(s.in);
  const Index out = volume(s.out);
  for_planes(pool, s, [&](Index i) {
    if (is_global(s)) {
      y[i] = set.vector->sum(x + i * in, in) / static_cast<T>(in);
      return;
    }
    alignas(64) T sums[pool_outputs + pool_slack];
    for_parts(s, [&](Index from, const PoolRow& row) {
      const Counts<T> counts(s, from, row.out_w);
      for_output_rows(s, [&](Index od, Index oh, Index output) {
        if (!join_rows(s, row, oh, x + i * in, sums, set.pool->sum_window)) {
          std::fill(sums, sums + row.out_w + pool_slack, T{0});
          for_rows_at(s, od, oh,
                      [&](Index offset) { set.pool->sum_line(row, x + i * in + offset, sums); });
        }
        counts.divide(s, od, oh, row.out_w, sums, y + i * out + output + from);
      });
    });
  });
}

template <class T>
void average_pool_gradient(ThreadPool& pool, const PoolShape& s, const T* dy, T* dx,
                           const Kernels& kernels) {
  const auto& set = kernel_set<T>(kernels);
  const Index in = volume(s.in);
  const Index out = volume(s.out);
  for_planes(pool, s, [&](Index i) {
    T* const target = dx + i * in;
    if (is_global(s)) {
      set.vector->fill(target, dy[i] / static_cast<T>(in), in);
      return;
    }
    std::fill(target, target + in, T{0});
    T shares[pool_outputs];
    for_parts(s, [&](Index from, const PoolRow& row) {
      const Counts<T> counts(s, from, row.out_w);
      for_output_rows(s, [&](Index od, Index oh, Index output) {
        counts.divide(s, od, oh, row.out_w, dy + i * out + output + from, shares);
        for_rows_at(s, od, oh,
                    [&](Index offset) { set.pool->spread_line(row, shares, target + offset); });
      });
    });
  });
}

#define ONDINE_INSTANTIATE(T)                                                                      \
  template void max_pool<T>(ThreadPool&, const PoolShape&, const T*, T*, std::int64_t*,            \
                            std::int64_t, const Kernels&);                                         \
  template void max_pool_gradient<T>(ThreadPool&, const PoolShape&, const T*, const std::int64_t*, \
                                     T*);                                                          \
  template void max_pool_gradient<T>(ThreadPool&, const PoolShape&, const T*, const T*, T*,        \
                                     const Kernels&);                                              \
  template void average_pool<T>(ThreadPool&, const PoolShape&, const T*, T*, const Kernels&);      \
  template void average_pool_gradient<T>(ThreadPool&, const PoolShape&, const T*, T*,              \
                                         const Kernels&);
ONDINE_INSTANTIATE(float)
ONDINE_INSTANTIATE(double)
#undef ONDINE_INSTANTIATE

}  // namespace ondine::math
