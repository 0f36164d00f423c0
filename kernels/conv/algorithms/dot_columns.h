// Few columns of a product of weights, as dot products: where lanes that hold columns would be
// idle.
#pragma once

#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {

class DotColumns {
 public:
  // Whether so few columns cost less as dot products than as lanes of vectors.
  static bool pays(std::int64_t depth, std::int64_t columns) {
    constexpr std::int64_t lanes = 16;
    return depth >= 2 * lanes && depth * (lanes - columns) >= 4 * lanes * columns;
  }

  // `outer` weights of each term, `depth` terms.
  DotColumns(std::int64_t outer, std::int64_t depth, std::int64_t columns,
             const SimdTables& kernels)
      : kernels_(kernels.few_positions),
        outer_(outer),
        depth_(depth),
        columns_(columns),
        row_(round_up(depth, kernels_->unit)) {}

  std::int64_t row() const { return row_; }  // elements from a column to the next, as rows
  std::int64_t elements() const { return columns_ * row_; }
  std::size_t bytes() const { return bytes_of<float>(elements()); }

  // Columns of a matrix of which a row has `ld` elements, as rows.
  void transpose(const float* columns, std::int64_t ld, float* rows) const {
    kernels_->transpose(depth_, columns_, columns, ld, rows);
  }

  // y = activation(w columns + bias), y with rows of `ld` elements; bias may be null.
  void multiply(ThreadPool& pool, const float* w, const float* rows, const float* bias,
                Activation activation, float* y, std::int64_t ld) const {
    constexpr std::int64_t task_channels = 32;
    constexpr std::int64_t task_work = std::int64_t{1} << 18;
    const std::int64_t tasks = divide_up(outer_, task_channels);
    const std::int64_t grain = grain_of(task_channels * depth_ * columns_, task_work);
    pool.for_chunks(tasks, grain, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t channel = first * task_channels;
      kernels_->forward(depth_, columns_, std::min(last * task_channels, outer_) - channel,
                        w + channel * depth_, rows, bias ? bias + channel : nullptr, activation,
                        y + channel * ld, ld);
    });
  }

 private:
  const FewPositionsKernels* kernels_;
  std::int64_t outer_, depth_, columns_;
  std::int64_t row_;
};

}  // namespace ondine::math
