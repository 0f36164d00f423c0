// How many elements the windows of an average hold.
#pragma once

#include "kernels/pool/algorithms/windows.h"

namespace ondine::math {

// Elements of the window at output `o` of one dim that count for an average.
inline std::int64_t counted(const PoolShape& s, std::size_t dim, std::int64_t o) {
  const std::int64_t start = o * s.stride[dim] - s.pad[dim];
  const std::int64_t low = s.count_include_pad ? -s.pad[dim] : 0;
  const std::int64_t high = s.in[dim] + (s.count_include_pad ? s.pad_end[dim] : 0);
  const Taps taps = taps_between(start, start, low, high, s.kernel[dim], s.dilation[dim]);
  return taps.last - taps.first;
}

// Elements that count in each window of a part of a row; 1 for sums.
template <class T>
class WindowCounts {
 public:
  WindowCounts(const PoolDesc& desc, std::int64_t from, std::int64_t count)
      : desc_(desc), count_(count) {
    for (std::int64_t j = 0; divides() && j < count; ++j) {
      columns_[j] = static_cast<T>(counted(desc.shape, 2, from + j));
    }
  }
  // dst = src / elements that count in the windows at (od, oh).
  void divide(std::int64_t od, std::int64_t oh, const T* src, T* dst) const {
    if (!divides()) {
      std::copy_n(src, count_, dst);
      return;
    }
    const PoolShape& s = desc_.shape;
    const T rows = static_cast<T>(counted(s, 0, od) * counted(s, 1, oh));
    for (std::int64_t j = 0; j < count_; ++j) dst[j] = src[j] / (rows * columns_[j]);
  }

 private:
  bool divides() const { return desc_.kind == PoolKind::average; }

  const PoolDesc& desc_;
  std::int64_t count_;
  T columns_[pool_outputs];
};

}  // namespace ondine::math
