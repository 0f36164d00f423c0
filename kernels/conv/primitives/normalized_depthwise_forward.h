// A depthwise convolution of planes that are normalized by the statistics of the batch, in float
// and double: a primitive of NormalizedConv. Of some channels at a time, the planes of
// all images are read once from memory for their statistics and once from a cache; the normalized
// planes of an image lie in scratch memory until they are convolved.
#pragma once

#include <memory>
#include <string_view>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/conv_desc.h"
#include "kernels/norm/batch_norm_primitive.h"

namespace ondine::math {

template <class T>
class DepthwiseConv;

struct NormalizedDepthwiseConvDesc {
  ConvShape shape;
  BatchNormDesc norm;  // of x, but for its `pass`, which is training; without `masked`
};

template <class T>
struct NormalizedDepthwiseConvArgs {
  Elements<const T> x = {};
  const T* scale = nullptr;
  const T* bias = nullptr;
  const T* w = nullptr;
  T* y = nullptr;                   // not x
  std::uint16_t* bf16_x = nullptr;  // optional: x as bfloat16; not of double
  T* batch_mean = nullptr;          // of x
  T* batch_variance = nullptr;
  T* y_mean = nullptr;  // optional, both or neither: of y, as a normalization of y computes them
  T* y_variance = nullptr;
};

// Const and safe to run from several threads, each with a workspace of its own.
template <class T>
class NormalizedDepthwiseConv {
 public:
  // One channel of x and y for each group, over planes; or no elements.
  static bool supports(const ConvShape& shape);

  // Error(unsupported) where it is not supported.
  NormalizedDepthwiseConv(const NormalizedDepthwiseConvDesc& desc, int threads,
                          const SimdTables& kernels = math::simd_tables());

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  void run(ThreadPool& pool, const NormalizedDepthwiseConvArgs<T>& args, Workspace workspace) const;
  std::string_view name() const noexcept { return name_; }  // of the convolution
  std::string_view isa() const noexcept { return isa_; }

 private:
  template <class X>
  void run_block(const NormalizedDepthwiseConvArgs<T>& args, std::int64_t first,
                 std::int64_t channels, std::byte* slot) const;

  NormalizedDepthwiseConvDesc desc_;
  const SimdTables* kernels_;
  std::shared_ptr<const DepthwiseConv<T>> conv_;  // none of no elements
  std::string_view name_ = "empty", isa_;
  std::int64_t in_, out_, taps_;            // elements of a plane, of a window
  std::int64_t channels_ = 1, images_ = 1;  // of a block; normalized at once
  std::size_t z_bytes_ = 0, row_bytes_ = 0, slot_bytes_ = 0;
  std::size_t workspace_ = 0;
};

}  // namespace ondine::math
