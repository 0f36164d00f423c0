// Pooling of one row of windows.
#pragma once

#include <cstdint>
#include <type_traits>

namespace ondine::math {

// One row of pooling windows over one row of x: at most pool_outputs of them. Results are arrays
// with space for pool_padding elements more.
struct PoolRow {
  std::int64_t in_w, out_w, kernel, stride, dilation, pad;
};
// One column of pooling windows over one column of x, with the limits of PoolRow. Lines of x are
// in_step elements apart, those of y out_step.
struct PoolColumn {
  std::int64_t in_h, out_h, kernel, stride, dilation, pad;
  std::int64_t in_step, out_step;
};
inline constexpr std::int64_t pool_outputs = 256;
inline constexpr std::int64_t pool_padding = 16;
inline constexpr std::int64_t pool_span = 1024;
inline constexpr std::int64_t pool_joined_stride = 4;  // of lines that are joined, at most
template <class T>
using PoolCode = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// Windows that lie inside of a plane: that of output i has its elements at starts[i] + taps[k].
inline constexpr std::int64_t max_window_taps = 64;
template <class T>
struct PoolWindows {
  const PoolCode<T>* starts;  // pool_padding more can be read, all of windows inside
  std::int64_t outputs;
  const PoolCode<T>* taps;  // in ascending order
  std::int64_t count;       // at most max_window_taps
};

template <class T>
struct PoolKernels {
  // best[j] = max(best[j], taps of output j); code, unless null, where that is: `position` + column
  // - j stride.
  void (*max_line)(const PoolRow& row, const T* line, std::int64_t position, T* best,
                   PoolCode<T>* code);
  void (*sum_line)(const PoolRow& row, const T* line, T* sums);   // sums += taps
  void (*spread_line)(const PoolRow& row, const T* dy, T* line);  // taps += dy
  // Rows of a stride up to pool_joined_stride and a span of at most pool_span columns. The maxima
  // of all windows of a plane (of zeros of both signs any), each of which has an element inside,
  // and the sums of a row of windows whose lines lie `step` apart.
  void (*max_plane)(const PoolRow& row, const PoolColumn& column, const T* plane, T* y);
  void (*sum_window)(const PoolRow& row, const T* first, std::int64_t step, std::int64_t lines,
                     T* y);
  // Windows of 2 x 2 with stride 2, upper and lower being their rows: y and, unless null, where the
  // maximum is, `upper` being at `position` and `lower` `width` later.
  void (*max_squares)(const T* upper, const T* lower, std::int64_t n, std::int64_t position,
                      std::int64_t width, T* y, std::int64_t* index);
  // The maxima of a plane and, unless null, where they are, the plane being at `position`.
  void (*max_windows)(const PoolWindows<T>& windows, const T* plane, std::int64_t position, T* y,
                      std::int64_t* index);
};

}  // namespace ondine::math
