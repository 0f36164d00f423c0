// A pointwise convolution, the depthwise convolution of its result and the pointwise convolution of
// that, in float and double: a primitive of ConvChain. Bands of rows, or small
// images together, stay in a second cache from x to y: depthwise results are packed as the right
// factor of the last product as soon as they are computed.
#pragma once

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/sources/expanded_bands.h"

namespace ondine::math {

struct InvertedBottleneckDesc {
  // Up to the depthwise results; y_stored is not read. in_channels 0: no first convolution, x has
  // the channels of the depthwise one.
  PointwiseDepthwiseDesc inner;
  std::int64_t out_channels = 1;
  Activation activation = Activation::none;  // of y
  // How they are stored: in bfloat16 the weights where the last product rounds them anyway, y where
  // it can.
  Storage projection_stored = Storage::plain;
  Storage y_stored = Storage::plain;
};

template <class T>
struct InvertedBottleneckArgs {
  PointwiseDepthwiseArgs<T> inner;     // not y
  Elements<const T> projection = {};   // weights [out_channels, channels]
  const T* projection_bias = nullptr;  // of each output channel; null: none
  Elements<T> y = {};                  // [batch, out_channels, height, width]; not x
};

// Const and safe to run from several threads, each with a workspace of its own.
template <class T>
class InvertedBottleneck {
 public:
  // Errors as of ExpandedBands.
  InvertedBottleneck(const InvertedBottleneckDesc& desc, int threads,
                     const SimdTables& kernels = math::simd_tables());

  // Whether the products round their factors, which does not depend on how they are stored.
  bool rounds_expansion() const noexcept;
  bool rounds_projection() const noexcept;
  // Whether x may be bfloat16, and whether y may be.
  bool reads_x() const noexcept;
  bool rounds_result() const;

  std::size_t workspace() const noexcept { return workspace_; }  // bytes
  // Error(internal) for operands that are stored in another way than the descriptor says.
  void run(ThreadPool& pool, const InvertedBottleneckArgs<T>& args, Workspace workspace) const;
  std::string_view name() const noexcept { return bands_.name(); }  // of the depthwise convolution
  std::string_view isa() const noexcept { return isa_name(*kernels_); }

 private:
  using Band = typename ExpandedBands<T>::Band;

  // A band of some images. All of the plane, where they are several.
  struct Tile {
    std::size_t band;
    std::int64_t image, images;
  };
  // Parts of the workspace that all tasks share.
  struct Shared {
    T* x;           // packed rows
    T* kept;        // rows between of all channels that the next band has too
    T* panels;      // packed depthwise results
    Elements<T> y;  // of several images, a row for each channel
  };

  void plan_memory(int threads);

  void run_tile(ThreadPool& pool, const InvertedBottleneckArgs<T>& args, const Tile& tile,
                Workspace workspace) const;
  GemmCall<T> pack_x(ThreadPool& pool, const InvertedBottleneckArgs<T>& args, const Tile& tile,
                     const Shared& shared, Workspace slots) const;
  // Rows of some channels of x, those of each image after the other.
  void gather_rows(const GemmCall<T>& source, const Tile& tile, std::int64_t first,
                   std::int64_t channels, std::byte* to) const;
  // The rows between of the channels [first, first + channels), which begin at z, as far as x has
  // to be multiplied for them.
  void expand_channels(const InvertedBottleneckArgs<T>& args, const Tile& tile,
                       const GemmCall<T>& rows, std::int64_t first, std::int64_t channels,
                       const Shared& shared, std::byte* slot) const;
  // Rows of x, where it is convolved itself; `wide` is memory for them.
  const T* rows_of_x(const InvertedBottleneckArgs<T>& args, const Tile& tile, std::int64_t image,
                     std::int64_t channel, T* wide) const;
  // Depthwise results of the channels, in panels.
  void run_channels(const InvertedBottleneckArgs<T>& args, const Tile& tile,
                    const GemmCall<T>& rows, std::int64_t first, std::int64_t channels,
                    const Shared& shared, std::byte* slot) const;
  void project(ThreadPool& pool, const InvertedBottleneckArgs<T>& args, const Tile& tile,
               const Shared& shared, Workspace slots) const;
  // The product of columns of a tile, without pointers.
  GemmCall<T> projection(std::int64_t columns) const;
  std::int64_t columns_of(const Tile& tile) const;  // of the depthwise results
  bool expands() const { return desc_.inner.in_channels > 0; }
  const GemmKernels<T>& gemm() const { return *tables_of<T>(*kernels_).gemm; }

  InvertedBottleneckDesc desc_;
  ExpandedBands<T> bands_;
  const SimdTables* kernels_;  // of the last product
  std::int64_t channels_ = 1;  // that a task expands
  std::int64_t images_ = 1;    // of a tile
  bool splits_rows_ = false;   // of what lies between: even columns come first
  std::int64_t kept_rows_ = 0;
  std::size_t kept_at_ = 0, panels_at_ = 0, y_at_ = 0, slots_at_ = 0;  // in the workspace
  // In a slot: rows between, then rows that are packed, then scratch memory.
  std::size_t rows_at_ = 0, scratch_at_ = 0, slot_bytes_ = 0;
  std::size_t workspace_ = 0;
};

}  // namespace ondine::math
