// The derivative of a depthwise convolution of normalized planes, in float and double: the
// primitive of NormalizedDepthwiseConvGrad. Of some channels at a time, the planes of all images
// are read once from memory and once from a cache; the normalized planes are not stored.
//
// Implementations, in the order in which they are tried:
//   rows_3x3   3 x 3 taps over rows of some vectors, bounds: planes are normalized in registers
//   planes     anything: the kernels of depthwise convolutions, on normalized planes of an image in
//              scratch memory
#pragma once

#include <memory>
#include <string_view>

#include "core/parallel.h"
#include "kernels/common/implementation_list.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/conv_desc.h"
#include "kernels/norm/batch_norm_primitive.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

// With v = (x - mean[c]) / sqrt(variance[c] + epsilon) scale[c] + bias[c] by the statistics of the
// batch and z = activation(v), of y = convolution of z and w. With bounds, z = min(max(v, floor),
// high), and dz counts as 0 unless low <= v <= high.
struct NormalizedDepthwiseDesc {
  ConvShape shape;
  double epsilon = 1e-5;
  double floor = 0;
  double low = 0;
  double high = 0;
  Storage x_stored = Storage::plain;
  Activation activation = Activation::bounds;
  double alpha = 1;
};

// Results are null where they are left out.
template <class T>
struct NormalizedDepthwiseArgs {
  const T* dy = nullptr;
  const T* w = nullptr;
  Elements<const T> x = {};
  const T* scale = nullptr;
  const T* bias = nullptr;
  const T* mean = nullptr;
  const T* variance = nullptr;
  T* dx = nullptr;  // not x
  T* dscale = nullptr;
  T* dbias = nullptr;
  T* dw = nullptr;
};

// Computation of one implementation for one descriptor. Immutable once made.
template <class T>
class NormalizedDepthwiseImplementation {
 public:
  virtual ~NormalizedDepthwiseImplementation() = default;
  virtual std::size_t workspace(int threads) const = 0;
  virtual void run(ThreadPool& pool, const NormalizedDepthwiseArgs<T>& args,
                   Workspace workspace) const = 0;
};

// Const and safe to run from several threads, each with a workspace of its own.
template <class T>
class NormalizedDepthwiseGrad {
 public:
  using Entry = ImplementationEntry<NormalizedDepthwiseDesc, NormalizedDepthwiseImplementation<T>>;

  // Error(unsupported) unless each group has one channel of x and of y, over planes with elements.
  NormalizedDepthwiseGrad(const NormalizedDepthwiseDesc& desc, int threads,
                          const SimdTables& kernels = math::simd_tables());
  // Uses the implementation named `name`; Error(unsupported) if it does not support `desc`.
  NormalizedDepthwiseGrad(const NormalizedDepthwiseDesc& desc, int threads, std::string_view name,
                          const SimdTables& kernels);

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  void run(ThreadPool& pool, const NormalizedDepthwiseArgs<T>& args, Workspace workspace) const {
    implementation_->run(pool, args, workspace);
  }
  std::string_view name() const noexcept { return name_; }
  std::string_view isa() const noexcept { return isa_; }

 private:
  NormalizedDepthwiseGrad(const Entry& entry, const NormalizedDepthwiseDesc& desc, int threads,
                          const SimdTables& kernels);

  std::string_view name_, isa_;
  std::shared_ptr<const NormalizedDepthwiseImplementation<T>> implementation_;
  std::size_t workspace_;
};

template <class T>
using MadeNormalizedDepthwise = std::unique_ptr<const NormalizedDepthwiseImplementation<T>>;
bool supports_rows_3x3(const NormalizedDepthwiseDesc& desc, const SimdTables& kernels);
template <class T>
MadeNormalizedDepthwise<T> make_rows_3x3(const NormalizedDepthwiseDesc& desc,
                                         const SimdTables& kernels);
bool supports_normalized_planes(const NormalizedDepthwiseDesc& desc, const SimdTables& kernels);
template <class T>
MadeNormalizedDepthwise<T> make_normalized_planes(const NormalizedDepthwiseDesc& desc,
                                                  const SimdTables& kernels);

}  // namespace ondine::math
