// The derivative of a depthwise convolution of normalized planes, in float and double: the
// primitive of NormalizedDepthwiseConvGrad. Of each channel, the planes of all images are read once
// from memory and once from a cache; neither the normalized planes nor their derivatives are
// stored.
#pragma once

#include <memory>
#include <string_view>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/conv_desc.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

// With v = (x - mean[c]) / sqrt(variance[c] + epsilon) scale[c] + bias[c] by the statistics of the
// batch and z = min(max(v, floor), high), of y = convolution of z and w. dz counts as 0 unless low
// <= v <= high.
struct NormalizedDepthwiseDesc {
  ConvShape shape;
  double epsilon = 1e-5;
  double floor = 0;
  double low = 0;
  double high = 0;
  bool rounded = false;  // x is bfloat16, given as if it were of T, which is float
};

// Results are null where they are left out.
template <class T>
struct NormalizedDepthwiseArgs {
  const T* dy = nullptr;
  const T* w = nullptr;
  const T* x = nullptr;
  const T* scale = nullptr;
  const T* bias = nullptr;
  const T* mean = nullptr;
  const T* variance = nullptr;
  T* dx = nullptr;  // not x
  T* dscale = nullptr;
  T* dbias = nullptr;
  T* dw = nullptr;
};

// Const and safe to run from several threads, each with a workspace of its own.
template <class T>
class NormalizedDepthwiseGrad {
 public:
  // Whether there is an implementation for the shape: one channel of x and y for each group,
  // planes, 3 x 3 taps, the same stride of 1 or 2 for both dims and a padding of 1 at their
  // beginning.
  static bool supports(const ConvShape& shape);

  // Error(unsupported) where it is not supported.
  NormalizedDepthwiseGrad(const NormalizedDepthwiseDesc& desc, int threads,
                          const Kernels& kernels = math::kernels());

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  void run(ThreadPool& pool, const NormalizedDepthwiseArgs<T>& args, Workspace workspace) const;
  std::string_view name() const noexcept { return "rows_3x3"; }
  std::string_view isa() const noexcept { return isa_; }

 private:
  template <class X>
  void run_channel(const NormalizedDepthwiseArgs<T>& args, std::int64_t c, std::byte* slot) const;

  NormalizedDepthwiseDesc desc_;
  std::string_view isa_;
  const Kernels* kernels_;
  std::int64_t in_, out_;  // elements of a plane
  std::size_t slot_bytes_;
  std::size_t workspace_;
};

}  // namespace ondine::math
