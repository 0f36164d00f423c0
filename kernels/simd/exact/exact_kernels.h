// Functions that round each operation by itself, so that they give the same bits with every
// instruction set.
#pragma once

#include <cstdint>

#include "core/random/random.h"
#include "kernels/simd/isa.h"

namespace ondine::math {

// Tables for transforms of n real numbers, n a power of two from 8 on, as pairs of parts.
struct FourierTables {
  std::int64_t half;                 // n / 2
  const double* roots;               // exp(-2 pi i j / half), j < half
  const double* real_roots;          // exp(-2 pi i j / n), j <= n / 4
  const std::int32_t* bit_reversal;  // of half positions
};

// Lines of numbers, each `step` elements after the one before.
struct FourierLines {
  std::int64_t count;
  const float* from;  // n numbers each
  std::int64_t from_step;
  float* to;  // `bins` complex numbers each
  std::int64_t to_step;
  std::int64_t bins;  // at most n / 2 + 1
};

// Elements 2 first, 2 first + 1, ... of the sequence of normal_pair, as shift + scale * element.
struct NormalRun {
  RandomKey key;
  std::uint64_t first;
  std::int64_t pairs;  // a multiple of box_muller_pairs
  double shift;
  double scale;
};
inline constexpr std::int64_t box_muller_pairs = 8;

struct ExactKernels {
  // Standard normal numbers of the blocks 16 first, 16 first + 1, ... of a stream of random_block,
  // for each group of 16 blocks 64 numbers. With u = (w / 2 + 1/2) / 2^31 for words 0 and 2 and a =
  // 2 pi w / 2^32 (w signed) for words 1 and 3, number 16 k + l of a group is, of words 0 and 1 of
  // block l, sqrt(-2 log u) cos a for k = 0 and with sin for k = 1, and so of words 2 and 3 for k =
  // 2 and 3. To within 1e-6.
  void (*normals)(float* to, const RandomKey& key, std::uint64_t first, std::int64_t groups);

  // A run rounded to float, two numbers for each pair, but for the pairs of which another rounding
  // in double could give another float: about one in 10,000. Writes these, counted from `first`,
  // to `doubtful` (room for all pairs) and returns their number; the caller computes them.
  std::int64_t (*box_muller)(float* to, const NormalRun& run, std::int32_t* doubtful);

  // y_k = sum over j of x_j exp(-2 pi i jk / n), k < bins, computed in double. `scratch`:
  // fourier_scratch(half) elements.
  void (*fourier)(const FourierTables& tables, const FourierLines& lines, double* scratch);
};

inline constexpr std::int64_t fourier_lines = 8;  // that are transformed together, at most
constexpr std::int64_t fourier_scratch(std::int64_t half) { return 2 * fourier_lines * (half + 1); }

namespace baseline {
extern const ExactKernels exact_kernels;
}
namespace avx2 {
extern const ExactKernels exact_kernels;
}
namespace avx512 {
extern const ExactKernels exact_kernels;
}

// Exact kernels of the same instruction set.
const ExactKernels& exact_kernels(const SimdTables& kernels) noexcept;

}  // namespace ondine::math
