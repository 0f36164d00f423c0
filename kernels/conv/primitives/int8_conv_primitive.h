// Convolutions of 8-bit integers, exact in int32: the primitive of Int8Conv.
//   int8_depthwise         one input channel a group. With AVX512-VNNI, where no weight has a zero
//                          point, rows of the window four taps at a time; else rows of padded
//                          planes (int8_planes.h) are multiplied and added up
//   int8_vnni, int8_pairs  matrix products (kernels/simd/matmul/int8_gemm_table.h) of the weights
//                          and the taps of all channels for blocks of positions of the output
// Sums become quantized numbers before they are stored, unless weights have zero points.
#pragma once

#include <optional>
#include <string_view>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/conv/sources/int8_planes.h"
#include "kernels/quantize/int8_operands.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

struct Int8ConvDesc {
  ConvShape shape;
  DType x = DType::uint8;
  DType w = DType::int8;
  bool quantizes = false;  // to 8 bits; else results are sums in int32
  bool symmetric = false;  // as signed numbers, no weight has a zero point
  bool prepared = false;   // weights are prepared before the calls; only where symmetric
};

struct Int8ConvArgs {
  const std::uint8_t* x;
  const std::uint8_t* w;     // not read where they are prepared
  std::int32_t zx;           // of x as unsigned numbers
  const std::int32_t* zw;    // of w as signed numbers
  std::int64_t zw_count;     // one for all output channels, or one for each
  const std::int32_t* bias;  // of the output channels; may be null
  kernels::Int8Epilogue::Values epilogue;
  void* y;
  const std::byte* prepared = nullptr;  // weights, where the descriptor says so
};

// Immutable; may run on several threads at once, each with a workspace of its own.
class Int8ConvPrimitive {
 public:
  // `gemm`: one of int8_gemm_implementations(kernels). No dim of the shape is 0.
  Int8ConvPrimitive(const Int8ConvDesc& desc, int threads, const SimdTables& kernels,
                    const Int8GemmKernels& gemm);

  std::size_t workspace() const noexcept { return shared_bytes_ + slots_bytes_; }
  std::size_t prepared_bytes() const noexcept { return weights_bytes_; }
  // Weights for Int8ConvArgs::prepared, 64-byte aligned.
  void prepare(const std::uint8_t* w, std::byte* to) const;
  void run(ThreadPool& pool, const Int8ConvArgs& args, Workspace workspace) const;
  std::string_view name() const noexcept {
    return way_ == Way::product ? gemm_.name : "int8_depthwise";
  }
  std::string_view isa() const noexcept {
    return way_ == Way::depthwise_taps ? kernels_.name : gemm_.isa;
  }

 private:
  enum class Way : std::uint8_t { product, depthwise_rows, depthwise_taps };
  // State that the tasks of a call share.
  struct Call {
    const Int8ConvArgs& args;
    const std::uint8_t* planes;
    const std::byte* weights;  // prepared
    const std::int32_t* adds;  // to the sums of each output channel
    const float* scales;       // of each output channel
    const std::int8_t* ones;   // null: no weight has a zero point
  };
  struct Tile {
    std::int64_t image, first, size;
  };

  Way choose(const Int8ConvDesc& desc) const;
  void set_tiles(int threads);
  void set_workspace(const Int8ConvDesc& desc, int threads);
  Call prepare_call(ThreadPool& pool, const Int8ConvArgs& args, std::byte* shared) const;
  void copy_planes(ThreadPool& pool, const Int8ConvArgs& args, std::uint8_t* planes) const;
  void order_terms(const std::uint8_t* from, std::int8_t* to) const;
  void prepare_channel(const std::uint8_t* w, const std::int32_t* zw, std::int64_t zw_count,
                       std::int64_t channel, std::byte* to) const;
  Int8Quantized quantized(const Call& call, std::int64_t image, std::int64_t channel) const;
  void run_product(const Call& call, std::int64_t task, std::byte* slot) const;
  void run_sums(const Call& call, const Tile& tile, std::int64_t channel, std::int64_t count,
                std::byte* slot) const;
  void run_rows(const Call& call, std::int64_t task) const;
  void run_taps(const Call& call, std::int64_t task, std::byte* slot) const;
  void finish(const Call& call, const Tile& tile, std::int64_t channel, std::int32_t* sums) const;
  void finish_taps(const Call& call, const Tile& tile, std::int64_t channel, std::int32_t* sums,
                   std::uint8_t* bytes) const;
  template <class T>
  void store(T* plane, const T* from, const Tile& tile) const;

  ConvShape shape_;
  std::uint8_t x_flip_, w_flip_;
  bool quantizes_;
  const SimdTables& kernels_;
  const Int8GemmKernels& gemm_;
  std::int64_t in_group_, out_group_;  // channels of a group
  std::int64_t taps_;                  // of a channel
  std::int64_t depth_;                 // terms of a sum
  std::int64_t out_;                   // elements of an output plane
  Way way_;
  std::optional<Int8Planes> planes_;         // where padded planes are read
  std::optional<Int8BlockWindows> windows_;  // of products
  std::int64_t weights_row_ = 0;             // bytes of the prepared weights of a channel
  std::int64_t tile_ = 0, tiles_ = 0;
  std::int64_t parts_ = 1, part_ = 0;                   // of the output channels of a group
  std::size_t weight_sums_at_ = 0, weights_bytes_ = 0;  // in prepared weights
  std::size_t weights_at_ = 0, adds_at_ = 0, scales_at_ = 0, ones_at_ = 0;   // in shared memory
  std::size_t packed_at_ = 0, columns_at_ = 0, sums_at_ = 0, bytes_at_ = 0;  // in a slot
  std::size_t shared_bytes_ = 0, slot_bytes_ = 0, slots_bytes_ = 0;
};

}  // namespace ondine::math
