// Convolutions of 8-bit integers, exact in int32: the primitive of Int8Conv.
//
// Each input plane is copied, padded, so that every tap of the window reads one contiguous row for
// all positions of an output plane; a stride reads from planes of its phases. Without padding and
// strides the input is read in place. The taps of the channels are then the rows of B in a matrix
// product, without gathering columns; the positions between the end of a row of the output and that
// of the plane are computed and dropped.
//   int8_depthwise         one input channel a group: rows are multiplied and added up
//   int8_vnni, int8_pairs  matrix products (kernels/simd/matmul/int8_gemm_table.h)
#pragma once

#include <string_view>
#include <vector>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/conv_desc.h"
#include "kernels/quantize/int8_operands.h"
#include "kernels/simd/matmul/int8_gemm_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

struct Int8ConvDesc {
  ConvShape shape;
  DType x = DType::uint8;
  DType w = DType::int8;
  bool quantizes = false;  // to 8 bits; else results are sums in int32
};

struct Int8ConvArgs {
  const std::uint8_t* x;
  const std::uint8_t* w;
  std::int32_t zx;           // of x as unsigned numbers
  const std::int32_t* zw;    // of w as signed numbers
  std::int64_t zw_count;     // one for all output channels, or one for each
  const std::int32_t* bias;  // of the output channels; may be null
  kernels::Int8Epilogue::Values epilogue;
  void* y;
};

// Immutable; may run on several threads at once, each with a workspace of its own.
class Int8ConvPrimitive {
 public:
  // `gemm`: one of int8_gemm_implementations(kernels). No dim of the shape is 0.
  Int8ConvPrimitive(const Int8ConvDesc& desc, int threads, const Kernels& kernels,
                    const Int8GemmKernels& gemm);

  std::size_t workspace() const noexcept { return shared_bytes_ + slots_bytes_; }
  void run(ThreadPool& pool, const Int8ConvArgs& args, Workspace workspace) const;
  std::string_view name() const noexcept { return depthwise_ ? "int8_depthwise" : gemm_.name; }
  std::string_view isa() const noexcept { return depthwise_ ? kernels_.name : gemm_.isa; }

 private:
  // What the tasks of a call share.
  struct Call {
    const Int8ConvArgs& args;
    const std::uint8_t* planes;
    const std::int8_t* weights;   // signed
    const std::int32_t* factors;  // of depthwise taps: weights without their zero points
    const std::int32_t* adds;     // to the sums of each output channel
    const std::int8_t* ones;      // null: no weight has a zero point
  };
  struct Tile {
    std::int64_t image, first, size;
  };

  void set_planes();
  void set_workspace(int threads);
  Call prepare(ThreadPool& pool, const Int8ConvArgs& args, std::byte* shared) const;
  void prepare_channel(const Int8ConvArgs& args, std::int64_t channel, std::byte* shared) const;
  void copy_plane(const std::uint8_t* from, std::uint8_t* to, std::uint8_t outside) const;
  void copy_phase(const std::uint8_t* from, std::uint8_t* to, const SpatialDims& phase) const;
  void rows_of(const Call& call, std::int64_t image, std::int64_t channel, std::int64_t count,
               const std::uint8_t** rows) const;
  void run_product(const Call& call, std::int64_t task, std::byte* slot) const;
  void run_depthwise(const Call& call, std::int64_t task, std::byte* slot) const;
  void finish(const Call& call, const Tile& tile, std::int64_t channel, std::int32_t* sums,
              std::uint8_t* bytes) const;
  template <class T>
  void store(T* plane, const T* from, const Tile& tile) const;

  ConvShape shape_;
  std::uint8_t x_flip_, w_flip_;
  bool quantizes_;
  const Kernels& kernels_;
  const Int8GemmKernels& gemm_;
  bool depthwise_ = false;
  std::int64_t in_group_, out_group_;  // channels of a group
  std::int64_t depth_ = 0;             // terms of a sum
  SpatialDims phases_{1, 1, 1};
  SpatialDims plane_{1, 1, 1};      // dims of a phase of a padded plane
  bool in_place_ = false;           // the input is its padded planes
  std::vector<std::int64_t> taps_;  // offsets in a padded plane
  std::int64_t plane_size_ = 0;     // of all phases
  std::int64_t positions_ = 0;
  std::int64_t tile_ = 0, tiles_ = 0;
  std::size_t weights_at_ = 0, factors_at_ = 0, adds_at_ = 0, ones_at_ = 0;  // in shared memory
  std::size_t packed_at_ = 0, columns_at_ = 0, sums_at_ = 0, bytes_at_ = 0;  // in a slot
  std::size_t shared_bytes_ = 0, slot_bytes_ = 0, slots_bytes_ = 0;
};

}  // namespace ondine::math
