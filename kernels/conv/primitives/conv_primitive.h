// Convolution and its gradients in float and double: the primitive of Conv, ConvTranspose,
// ConvActivation and their gradient operators, and with them of CausalConvWithState, which expands
// into Conv. (ConvInteger and QLinearConv run int8_conv_primitive.h; DeformConv is a product of
// deformed columns; Col2Im and Im2Col move elements only.) ConvTranspose is backward_data with the
// roles of x and y exchanged.
//
// The implementations, in the order in which they are tried. The first that supports the descriptor
// is used; the order is the same for every direction.
//   bias_only           an operand has no elements
//   grouped             groups of 2 to 128 channels, float: channels of one position of up to 4
//                       groups in the lanes of vectors
//   direct              stride 1, few channels: every product reads copies of the planes in place
//   winograd_panels     3 x 3, float; stride 1: at least 16 channels, at least 64 positions (49
//                       forward); stride 2 along both axes: at least 32 channels (bfloat16: 16) and
//                       16 or 32 tiles; few tiles and many channels, so that the transformed input
//                       is shared
//   winograd            the same with more tiles, and the gradient by the weights
//   few_positions       forward, float, at most 12 positions: dot products along the channels
//   strided             stride 2 (by at least one axis), at least 32 positions of an image, float:
//                       rows of output channels from padded copies
//   depthwise_strips    AVX2 and AVX-512, float, depthwise, 3 x 3 around each position, stride 1
//                       (forward: or 2), and 5 x 5: strips of columns, planes read where they lie
//   depthwise_channels  depthwise, planes that fit a cache: channels in the lanes of vectors
//   depthwise_3x3       depthwise, 3 x 3, stride 1: each plane alone, two rows at a time
//   depthwise_rows      any other depthwise: each plane alone
//   pointwise           1 x 1, stride 1: matrix products without columns; images of few positions
//                       are joined
//   joined_columns      AVX-512, float, one group, at most 256 positions: products over columns of
//                       joined images, which shuffles gather; not backward_data
//   im2col              anything: a matrix product with gathered columns
// Kernels of lower precision (Precision::bfloat16) first try those whose products round their
// factors to bfloat16; where none pays, all is computed in float32:
//   shifted_bf16        AMX, stride 1, at least 16 channels, at least 196 positions (256 for
//                       gradients by the weights), few channels where Winograd serves: a product
//                       for each tap, which reads the planes from the position that it sees
//   grouped_bf16        not the gradient by the weights of one image, and not with AMX, where
//                       `grouped` takes less time in float32
//   strided_bf16        forward, not with AMX: pairs of channels; not more than 32 channels where
//                       Winograd serves, nor few terms where im2col_bf16 does
//   winograd_panels_bf16, winograd_bf16   factors are transformed components
//   pointwise_bf16
//   joined_columns_bf16 as im2col_bf16, backward_data too
//   im2col_bf16         not where direct serves, and strided only with at least 64 output channels
#pragma once

#include <memory>
#include <string_view>

#include "core/parallel.h"
#include "kernels/common/implementation_list.h"
#include "kernels/common/stored_elements.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/conv_desc.h"

namespace ondine::math {

// Where a forward convolution takes bfloat16 (ConvDesc::x_stored, w_stored, y_stored).
struct ConvRounding {
  bool rounds_factors = false;  // it rounds float32 x and w before it multiplies, and reads both
  bool reads_x = false;
  bool writes_y = false;
};

// The operands of one call. A direction reads two of x, w and dy and overwrites `result`.
template <class T>
struct ConvArgs {
  Elements<const T> x = {};  // forward, backward_weights
  Elements<const T> w = {};  // forward, backward_data
  const T* dy = nullptr;     // both gradients
  const T* bias = nullptr;   // of the channels of the result; null: none. Not of backward_weights
  Elements<T> result = {};   // y, dx or dw
};

// Computation of one implementation for one descriptor. Immutable once made.
template <class T>
class ConvImplementation {
 public:
  virtual ~ConvImplementation() = default;
  virtual std::size_t workspace(int threads) const = 0;
  virtual void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const = 0;
  // Whether its products split their factors (GemmPrimitive).
  virtual bool splits() const { return false; }
  virtual ConvRounding rounding() const { return {}; }
};

template <class T>
using ConvEntry = ImplementationEntry<ConvDesc, ConvImplementation<T>>;

// All of them, in the order in which they are tried.
template <class T>
std::span<const ConvEntry<T>> conv_implementations();
// Implementations of lower precision, tried before the others. None supports kernels of full
// precision.
template <class T>
std::span<const ConvEntry<T>> lower_conv_implementations();

// A convolution whose implementation is chosen once. Copies share it; const and safe to run from
// several threads, each with a workspace of its own. `run` allocates nothing.
template <class T>
class ConvPrimitive {
 public:
  // `threads`: of the pool that will run it. Only the size of the workspace depends on it.
  // Error(mismatch) for an activation of a gradient.
  static ConvPrimitive make(const ConvDesc& desc, int threads,
                            const SimdTables& kernels = math::simd_tables());
  // Uses the implementation named `name`; Error(unsupported) if it does not support `desc`.
  static ConvPrimitive make(const ConvDesc& desc, int threads, std::string_view name,
                            const SimdTables& kernels);

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  // With a workspace for fewer threads than the pool has, but enough for one, it runs on one.
  // Error(internal) for operands that are stored in another way than the descriptor says.
  void run(ThreadPool& pool, const ConvArgs<T>& args, Workspace workspace) const {
    require_stored(args.x, x_stored_);
    require_stored(args.w, w_stored_);
    require_stored(args.result, y_stored_);
    implementation_->run(pool, args, workspace);
  }
  // Does not depend on how the operands of the descriptor are stored.
  ConvRounding rounding() const { return implementation_->rounding(); }
  std::string_view name() const noexcept { return name_; }
  std::string_view isa() const noexcept { return isa_; }

 private:
  ConvPrimitive(const ConvEntry<T>& entry, const ConvDesc& desc, int threads,
                const SimdTables& kernels);

  std::string_view name_;
  Storage x_stored_, w_stored_, y_stored_;
  std::shared_ptr<const ConvImplementation<T>> implementation_;
  std::string_view isa_;
  std::size_t workspace_ = 0;
};

}  // namespace ondine::math
