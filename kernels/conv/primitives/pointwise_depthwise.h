// A pointwise convolution and the depthwise convolution of its result, in float and double: a
// primitive of ConvChain. The result of the first is made in bands of rows, of some
// channels at a time, that stay in a second cache until the windows over them are convolved.
#pragma once

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/sources/expanded_bands.h"

namespace ondine::math {

// Const and safe to run from several
// threads, each with a workspace of its own.
template <class T>
class PointwiseDepthwise {
 public:
  // Errors as of ExpandedBands.
  PointwiseDepthwise(const PointwiseDepthwiseDesc& desc, int threads,
                     const SimdTables& kernels = math::simd_tables());

  // Whether the product rounds its factors, which does not depend on how they are stored.
  bool rounds_factors() const noexcept;

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  // Error(internal) for operands that are stored in another way than the descriptor says.
  void run(ThreadPool& pool, const PointwiseDepthwiseArgs<T>& args, Workspace workspace) const;
  std::string_view name() const noexcept { return bands_.name(); }
  std::string_view isa() const noexcept { return isa_name(bands_.kernels()); }  // of the product

 private:
  void run_channels(const PointwiseDepthwiseArgs<T>& args, std::int64_t image, std::int64_t first,
                    std::int64_t channels, std::byte* slot) const;
  void convolve_band(const typename ExpandedBands<T>::Band& band, const T* z,
                     const PointwiseDepthwiseArgs<T>& args, std::int64_t image,
                     std::int64_t channel, std::byte* slot) const;

  PointwiseDepthwiseDesc desc_;
  ExpandedBands<T> bands_;
  std::int64_t channels_ = 1;  // of a band
  // Bytes of a thread's slot: of the rows between, of results before rounding, and of all of it.
  std::size_t band_bytes_ = 0, result_bytes_ = 0, slot_bytes_ = 0;
  std::size_t workspace_ = 0;
};

}  // namespace ondine::math
