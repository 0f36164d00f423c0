// A pointwise convolution of planes that are normalized by the statistics of the batch, in float
// and double: a primitive of NormalizedConv. Some positions of all channels at a time are
// normalized in scratch memory that stays in a second cache, from where a product reads them; the
// normalized planes are not stored.
#pragma once

#include <optional>
#include <string_view>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/conv_desc.h"
#include "kernels/conv/sources/normalized_source.h"
#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

// With z as in normalized_source.h:
//   y[n, o, p] = sum over c of w[o, c] z[n, c, p]
struct NormalizedPointwiseDesc {
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t positions = 1;  // of a plane
  BatchNormDesc norm;          // epsilon and the activation of z
};

// The descriptor of a convolution that is such a one, of planes that are large enough for products
// of their own. Smaller planes of several images are joined, which needs z.
std::optional<NormalizedPointwiseDesc> normalized_pointwise(const ConvShape& shape,
                                                            const BatchNormDesc& norm);

// Const and safe to run from several threads, each with a workspace of its own.
template <class T>
class NormalizedPointwiseConv {
 public:
  NormalizedPointwiseConv(const NormalizedPointwiseDesc& desc, int threads,
                          const SimdTables& kernels = math::simd_tables());

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  void run(ThreadPool& pool, const NormalizedConvArgs<T>& args, Workspace workspace) const;
  std::string_view isa() const noexcept;

 private:
  void run_block(const NormalizedConvArgs<T>& args, const NormalizedOperand<T>& from,
                 std::int64_t image, std::int64_t block, std::byte* slot) const;
  // The product of so many positions, without pointers.
  GemmCall<T> product(std::int64_t count) const;

  NormalizedPointwiseDesc desc_;
  const SimdTables* kernels_;
  NormalizedSource<T> source_;
  std::int64_t blocks_ = 0, block_ = 0;  // of positions of an image, and positions of one
  std::size_t z_bytes_ = 0, slot_bytes_ = 0, workspace_ = 0;
};

}  // namespace ondine::math
