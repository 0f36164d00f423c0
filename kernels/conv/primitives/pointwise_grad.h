// Both derivatives of a pointwise convolution over planes, in float and double: the primitive of
// PointwiseConvGrad. dy is read from memory once: the product for dw leaves some positions of it in
// a second cache, from where the product for dx reads them.
#pragma once

#include <string_view>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

//   dx[n, c, p] = sum over o of w[o, c] dy[n, o, p]
//   dw[o, c] = sum over n and p of dy[n, o, p] x[n, c, p]
struct PointwiseGradDesc {
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t positions = 1;  // of a plane
};

template <class T>
struct PointwiseGradArgs {
  const T* dy = nullptr;  // [batch, out_channels, positions]
  const T* w = nullptr;   // [out_channels, in_channels]
  const T* x = nullptr;   // [batch, in_channels, positions]
  T* dx = nullptr;        // not x
  T* dw = nullptr;
};

// Const and safe to run from several threads, each with a workspace of its own.
template <class T>
class PointwiseGrad {
 public:
  PointwiseGrad(const PointwiseGradDesc& desc, int threads,
                const SimdTables& kernels = math::simd_tables());

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  void run(ThreadPool& pool, const PointwiseGradArgs<T>& args, Workspace workspace) const;
  std::string_view isa() const noexcept;

 private:
  // Computes the gradients of blocks [first, last); adds up dw in `sums`.
  void run_blocks(const PointwiseGradArgs<T>& args, std::int64_t first, std::int64_t last,
                  std::byte* slot, T* sums) const;
  // Products of so many positions, without pointers.
  GemmCall<T> data_product(std::int64_t count) const;
  GemmCall<T> weights_product(std::int64_t count) const;

  PointwiseGradDesc desc_;
  const SimdTables* kernels_;
  std::int64_t blocks_ = 0, block_ = 0;  // of positions of an image, and positions of one
  std::int64_t groups_ = 0;              // of blocks that are summed apart
  std::size_t sums_bytes_ = 0, slot_bytes_ = 0, workspace_ = 0;
};

}  // namespace ondine::math
