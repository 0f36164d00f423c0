// A pointwise convolution of planes that are normalized by the statistics of the batch, and its
// derivative by the weights, in float and double: the primitives of NormalizedPointwiseConv and
// NormalizedPointwiseConvGradWeight. Some positions of some channels at a time are normalized in
// scratch memory that stays in a second cache, from where a product reads them; the normalized
// planes are not stored.
#pragma once

#include <string_view>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/norm/batch_norm_primitive.h"
#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

// With z = activation((x - mean[c]) / sqrt(variance[c] + epsilon) scale[c] + bias[c]):
//   y[n, o, p] = sum over c of w[o, c] z[n, c, p]
//   dw[o, c] = sum over n and p of dy[n, o, p] z[n, c, p]
struct NormalizedPointwiseDesc {
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t positions = 1;  // of a plane
  BatchNormDesc norm;          // epsilon and the activation of z
};

template <class T>
struct NormalizedPointwiseArgs {
  Elements<const T> x = {};  // [batch, in_channels, positions]; not bfloat16
  const T* scale = nullptr;  // of each channel
  const T* bias = nullptr;
  const T* w = nullptr;     // [out_channels, in_channels]
  const T* mean = nullptr;  // optional, both or neither: the statistics of x, where they are known
  const T* variance = nullptr;
  T* y = nullptr;           // [batch, out_channels, positions]
  T* batch_mean = nullptr;  // results, NaN of no elements
  T* batch_variance = nullptr;
};

// Const and safe to run from several threads, each with a workspace of its own.
template <class T>
class NormalizedPointwiseConv {
 public:
  NormalizedPointwiseConv(const NormalizedPointwiseDesc& desc, int threads,
                          const SimdTables& kernels = math::simd_tables());

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  void run(ThreadPool& pool, const NormalizedPointwiseArgs<T>& args, Workspace workspace) const;
  std::string_view isa() const noexcept;

 private:
  void find_statistics(ThreadPool& pool, const NormalizedPointwiseArgs<T>& args) const;
  void run_block(const NormalizedPointwiseArgs<T>& args, std::int64_t image, std::int64_t block,
                 std::byte* slot) const;
  // The product of so many positions, without pointers.
  GemmCall<T> product(std::int64_t count) const;

  NormalizedPointwiseDesc desc_;
  const SimdTables* kernels_;
  std::int64_t blocks_ = 0, block_ = 0;  // of positions of an image, and positions of one
  std::size_t z_bytes_ = 0, slot_bytes_ = 0, workspace_ = 0;
};

template <class T>
struct NormalizedPointwiseWeightsArgs {
  Elements<const T> x = {};  // not bfloat16
  const T* scale = nullptr;
  const T* bias = nullptr;
  const T* mean = nullptr;  // of the batch
  const T* variance = nullptr;
  const T* dy = nullptr;
  T* dw = nullptr;
};

// As above.
template <class T>
class NormalizedPointwiseWeights {
 public:
  NormalizedPointwiseWeights(const NormalizedPointwiseDesc& desc, int threads,
                             const SimdTables& kernels = math::simd_tables());

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  void run(ThreadPool& pool, const NormalizedPointwiseWeightsArgs<T>& args,
           Workspace workspace) const;
  std::string_view isa() const noexcept;

 private:
  // Adds up images [first, last) of a block of channels.
  void run_block(const NormalizedPointwiseWeightsArgs<T>& args, std::int64_t first,
                 std::int64_t last, std::int64_t channel, std::byte* slot, T* sums) const;
  GemmCall<T> product(std::int64_t channels, std::int64_t count) const;

  NormalizedPointwiseDesc desc_;
  const SimdTables* kernels_;
  std::int64_t blocks_ = 0, channels_ = 0;  // of channels, and channels of one
  std::int64_t run_ = 0;                    // positions that are normalized at once
  std::int64_t groups_ = 0;                 // of images that are summed apart
  std::size_t sums_bytes_ = 0, z_bytes_ = 0, slot_bytes_ = 0, workspace_ = 0;
};

}  // namespace ondine::math
