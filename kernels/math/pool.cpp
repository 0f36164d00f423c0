#include "kernels/math/pool.h"

#include <algorithm>
#include <limits>

#include "kernels/math/conv_plan.h"
#include "kernels/math/table.h"

namespace ondine::math {
namespace {

using Index = std::int64_t;

PoolRow row_of(const PoolShape& s) {
  return {s.in[2], s.out[2], s.kernel[2], s.stride[2], s.dilation[2], s.pad[2]};
}

Index grain_of(const PoolShape& s) {
  const Index work = volume(s.out) * volume(s.kernel) + volume(s.in);
  return std::max<Index>(1, 2 * elementwise_grain / std::max<Index>(1, work));
}

// body(offset of the input row) for every row of the window at (od, oh) that lies inside, in order.
template <class Body>
void for_rows_at(const PoolShape& s, Index od, Index oh, Body&& body) {
  for (Index kd = 0; kd < s.kernel[0]; ++kd) {
    const Index d = od * s.stride[0] + kd * s.dilation[0] - s.pad[0];
    if (d < 0 || d >= s.in[0]) continue;
    for (Index kh = 0; kh < s.kernel[1]; ++kh) {
      const Index h = oh * s.stride[1] + kh * s.dilation[1] - s.pad[1];
      if (h >= 0 && h < s.in[1]) body((d * s.in[1] + h) * s.in[2]);
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
constexpr Index most_outputs = 256;
template <class Body>
void for_parts(const PoolShape& s, Body&& body) {
  for (Index from = 0; from < s.out[2]; from += most_outputs) {
    PoolRow row = row_of(s);
    row.out_w = std::min(most_outputs, s.out[2] - from);
    row.pad -= from * s.stride[2];
    body(from, row);
  }
}

// Elements of the window at output `o` of one dimension that count for an average.
Index counted(const PoolShape& s, std::size_t dim, Index o) {
  const Index start = o * s.stride[dim] - s.pad[dim];
  const Index low = s.count_include_pad ? -s.pad[dim] : 0;
  const Index high = s.in[dim] + (s.count_include_pad ? s.pad_end[dim] : 0);
  Index count = 0;
  for (Index k = 0; k < s.kernel[dim]; ++k) {
    const Index at = start + k * s.dilation[dim];
    count += at >= low && at < high;
  }
  return count;
}

// dst[j] = src[j] / elements counted at output (od, oh, from + j); 0 of 0 is NaN as in any mean.
template <class T>
void divide_by_count(const PoolShape& s, Index od, Index oh, Index from, Index count, const T* src,
                     T* dst) {
  const Index rows = counted(s, 0, od) * counted(s, 1, oh);
  const Index reach = (s.kernel[2] - 1) * s.dilation[2];
  for (Index j = 0; j < count; ++j) {
    const Index start = (from + j) * s.stride[2] - s.pad[2];
    const bool interior = start >= 0 && start + reach < s.in[2];
    dst[j] = src[j] / static_cast<T>(rows * (interior ? s.kernel[2] : counted(s, 2, from + j)));
  }
}

bool is_global(const PoolShape& s) {
  return s.kernel == s.in && s.out == Extents{1, 1, 1} && s.dilation == Extents{1, 1, 1} &&
         s.pad == Extents{0, 0, 0};
}

template <class Plane>
void for_planes(ThreadPool& pool, const PoolShape& s, Plane&& plane) {
  pool.for_chunks(s.planes, grain_of(s), [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) plane(i);
  });
}

}  // namespace

template <class T>
void max_pool(ThreadPool& pool, const PoolShape& s, const T* x, T* y, Index* index,
              const Kernels& kernels) {
  const auto line = kernel_set<T>(kernels).pools->max_line;
  const PoolRow row = row_of(s);
  const Index in = volume(s.in);
  const Index out = volume(s.out);
  for_planes(pool, s, [&](Index i) {
    T* const best = y + i * out;
    Index* const at = index ? index + i * out : nullptr;
    std::fill(best, best + out, -std::numeric_limits<T>::infinity());
    if (at) std::fill(at, at + out, Index{-1});
    for_output_rows(s, [&](Index od, Index oh, Index output) {
      for_rows_at(s, od, oh, [&](Index offset) {
        line(row, x + i * in + offset, offset, best + output, at ? at + output : nullptr);
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
  const auto line = kernel_set<T>(kernels).pools->max_line;
  const Index in = volume(s.in);
  const Index out = volume(s.out);
  for_planes(pool, s, [&](Index i) {
    T best[most_outputs];
    Index at[most_outputs];
    T* const target = dx + i * in;
    std::fill(target, target + in, T{0});
    for_output_rows(s, [&](Index od, Index oh, Index output) {
      for_parts(s, [&](Index from, const PoolRow& row) {
        std::fill(best, best + row.out_w, -std::numeric_limits<T>::infinity());
        std::fill(at, at + row.out_w, Index{-1});
        for_rows_at(s, od, oh,
                    [&](Index offset) { line(row, x + i * in + offset, offset, best, at); });
        const T* const d = dy + i * out + output + from;
        for (Index j = 0; j < row.out_w; ++j) {
          if (at[j] >= 0) target[at[j]] += d[j];
        }
      });
    });
  });
}

template <class T>
void average_pool(ThreadPool& pool, const PoolShape& s, const T* x, T* y, const Kernels& kernels) {
  const auto& set = kernel_set<T>(kernels);
  const PoolRow row = row_of(s);
  const Index in = volume(s.in);
  const Index out = volume(s.out);
  for_planes(pool, s, [&](Index i) {
    if (is_global(s)) {
      y[i] = set.vector->sum(x + i * in, in) / static_cast<T>(in);
      return;
    }
    T* const sums = y + i * out;
    std::fill(sums, sums + out, T{0});
    for_output_rows(s, [&](Index od, Index oh, Index output) {
      for_rows_at(s, od, oh, [&](Index offset) {
        set.pools->sum_line(row, x + i * in + offset, sums + output);
      });
      divide_by_count(s, od, oh, 0, s.out[2], sums + output, sums + output);
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
    T shares[most_outputs];
    for_output_rows(s, [&](Index od, Index oh, Index output) {
      for_parts(s, [&](Index from, const PoolRow& row) {
        divide_by_count(s, od, oh, from, row.out_w, dy + i * out + output + from, shares);
        for_rows_at(s, od, oh,
                    [&](Index offset) { set.pools->spread_line(row, shares, target + offset); });
      });
    });
  });
}

#define ONDINE_INSTANTIATE(T)                                                                      \
  template void max_pool<T>(ThreadPool&, const PoolShape&, const T*, T*, std::int64_t*,            \
                            const Kernels&);                                                       \
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
