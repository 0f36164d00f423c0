// Planes that are normalized by the statistics of the batch while they are read: the source of
// convolutions that take a normalization, and of their derivatives by the weights.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/algorithms/algorithm.h"
#include "kernels/norm/batch_norm_primitive.h"
#include "kernels/norm/normalized_rows.h"

namespace ondine::math {

// z = activation((x - mean[c]) / sqrt(variance[c] + epsilon) scale[c] + bias[c]) of x
// [batch, channels, positions].
template <class T>
struct NormalizedOperand {
  const T* x = nullptr;
  const T* scale = nullptr;  // of each channel, as all that follows
  const T* bias = nullptr;
  const T* mean = nullptr;
  const T* variance = nullptr;
};

// Operands and results of y = Conv(z, w).
template <class T>
struct NormalizedConvArgs {
  Elements<const T> x = {};  // [batch, in_channels, positions]
  const T* scale = nullptr;  // of each channel
  const T* bias = nullptr;
  const T* w = nullptr;
  const T* mean = nullptr;  // optional, both or neither: the statistics of x, where they are known
  const T* variance = nullptr;
  T* y = nullptr;                   // not x
  std::uint16_t* bf16_x = nullptr;  // optional: x as bfloat16; not of double
  T* batch_mean = nullptr;          // of x, NaN of no elements
  T* batch_variance = nullptr;
  T* y_mean = nullptr;  // optional, both or neither: of y, as a normalization of y computes them
  T* y_variance = nullptr;
  Workspace workspace = {};
};

// Some positions of some channels of an image.
struct PlaneBlock {
  std::int64_t image, channel, channels, first, count;
};

template <class T>
class NormalizedSource {
 public:
  // `norm`: epsilon and the activation of z.
  NormalizedSource(const BatchNormDesc& norm, std::int64_t channels, std::int64_t positions,
                   const SimdTables& kernels)
      : rows_(norm, kernels), channels_(channels), positions_(positions) {}

  // The operand of `args`, with its statistics, which are written to their results.
  NormalizedOperand<T> operand(ThreadPool& pool, const NormalizedConvArgs<T>& args,
                               std::int64_t batch) const {
    if (args.mean != nullptr) {
      std::copy_n(args.mean, channels_, args.batch_mean);
      std::copy_n(args.variance, channels_, args.batch_variance);
    } else {
      find_statistics(pool, args, batch);
    }
    return {args.x.plain(), args.scale, args.bias, args.batch_mean, args.batch_variance};
  }

  // Normalizes a block into rows of z that are `ld` elements apart.
  void read(const NormalizedOperand<T>& from, const PlaneBlock& block, T* z,
            std::int64_t ld) const {
    constexpr std::int64_t asked_bytes = 2048;  // of the next row
    constexpr std::int64_t size = sizeof(T);
    for (std::int64_t i = 0; i < block.channels; ++i) {
      const std::int64_t c = block.channel + i;
      const auto row = rows_.row(from.mean[c], from.variance[c], from.scale[c], from.bias[c]);
      const T* const x = from.x + (block.image * channels_ + c) * positions_ + block.first;
      // Streams of the hardware end with a row.
      if (i + 1 < block.channels) {
        rows_.ask_for(x + positions_, std::min(block.count * size, asked_bytes));
      }
      rows_.normalize(row, z + i * ld, x, nullptr, nullptr, block.count);
    }
  }

 private:
  void find_statistics(ThreadPool& pool, const NormalizedConvArgs<T>& args,
                       std::int64_t batch) const {
    constexpr std::int64_t work_of_task = std::int64_t{1} << 18;
    const std::int64_t grain = grain_of(batch * positions_, work_of_task);
    pool.for_chunks(channels_, grain, [&](std::int64_t c, std::int64_t last) {
      for (; c < last; ++c) {
        rows_.statistics(args.x.plain() + c * positions_, batch, channels_ * positions_, positions_,
                         args.batch_mean + c, args.batch_variance + c);
      }
    });
  }

  NormalizedRows<T, T> rows_;
  std::int64_t channels_, positions_;
};

}  // namespace ondine::math
