#include "kernels/conv/primitives/int8_conv_primitive.h"

#include <algorithm>
#include <cstring>

#include "core/stop.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {
namespace {

// Bytes of windows of the input itself; where they take more, padded planes are read.
constexpr double max_windows = 16 << 20;
constexpr std::int64_t row_block = 64;             // output channels of sums that are stored
constexpr std::int64_t packed_limit = 320 * 1024;  // bytes of B of a product
constexpr std::int64_t product_tile = 512;
constexpr std::int64_t depthwise_tile = 4096;

std::int32_t wrapped(std::int64_t x) { return static_cast<std::int32_t>(x); }

bool fits_depthwise_rows(const ConvShape& s) {
  return s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && s.pad[0] == 0 && s.kernel[2] <= 8 &&
         s.stride[2] <= 2 && s.dilation[2] <= 2;
}

bool has_strides(const ConvShape& s) { return volume(s.stride) != 1; }

}  // namespace

Int8ConvPrimitive::Int8ConvPrimitive(const Int8ConvDesc& desc, int threads,
                                     const SimdTables& kernels, const Int8GemmKernels& gemm)
    : shape_(desc.shape),
      x_flip_(kernels::flip_to_unsigned(desc.x)),
      w_flip_(kernels::flip_to_signed(desc.w)),
      quantizes_(desc.quantizes),
      kernels_(kernels),
      gemm_(gemm),
      in_group_(shape_.in_channels / shape_.groups),
      out_group_(shape_.out_channels / shape_.groups),
      taps_(volume(shape_.kernel)),
      depth_(in_group_ * taps_),
      out_(volume(shape_.out)),
      way_(choose(desc)) {
  const bool pads = has_strides(shape_) || Int8BlockWindows::bytes_by_tap(shape_) > max_windows;
  if (way_ == Way::depthwise_taps || (way_ == Way::product && pads)) planes_.emplace(shape_);
  if (way_ == Way::product) {
    planes_ ? windows_.emplace(*planes_, shape_) : windows_.emplace(shape_);
  }
  switch (way_) {
    case Way::product:
      weights_row_ = round_up(in_group_, gemm_.unit) * taps_;
      break;
    case Way::depthwise_rows:
      weights_row_ = shape_.kernel[1] * round_up(shape_.kernel[2], 4);
      break;
    case Way::depthwise_taps:
      weights_row_ = depth_ * 4;
      break;
  }
  set_tiles(threads);
  set_workspace(desc, threads);
}

Int8ConvPrimitive::Way Int8ConvPrimitive::choose(const Int8ConvDesc& desc) const {
  if (in_group_ != 1 || out_group_ > 4) return Way::product;
  const bool rows = desc.symmetric && desc.quantizes && gemm_.depthwise != nullptr;
  return rows && fits_depthwise_rows(shape_) ? Way::depthwise_rows : Way::depthwise_taps;
}

void Int8ConvPrimitive::set_tiles(int threads) {
  if (way_ != Way::product) {
    const std::int64_t positions = planes_ ? planes_->positions() : out_;
    tile_ = round_up(even_chunk(positions, depthwise_tile), gemm_.nr);
    return;
  }
  const std::int64_t column =
      std::max<std::int64_t>(4, gemm_.packed_bytes(weights_row_, 1) / gemm_.nr);
  const std::int64_t wanted = packed_limit / column / int8_block * int8_block;
  const std::int64_t limit = std::clamp<std::int64_t>(wanted, int8_block, product_tile);
  tile_ = round_up(even_chunk(out_, limit), int8_block);
  tiles_ = divide_up(out_, tile_);
  // Threads that tiles leave idle share the output channels, each packing the tile for itself.
  const std::int64_t tasks = shape_.batch * shape_.groups * tiles_;
  parts_ = std::clamp<std::int64_t>(divide_up(threads, tasks), 1, divide_up(out_group_, row_block));
  part_ = divide_up(out_group_, parts_);
}

void Int8ConvPrimitive::set_workspace(const Int8ConvDesc& desc, int threads) {
  const std::int64_t channels = shape_.out_channels;
  Parts weights;
  weights.add<std::byte>(channels * weights_row_);
  weight_sums_at_ = weights.add<std::byte>(channels * 4);
  weights_bytes_ = weights.bytes();
  Parts shared;
  if (planes_ && !planes_->in_place()) {
    shared.add<std::byte>(shape_.batch * shape_.in_channels * planes_->size());
  }
  weights_at_ =
      shared.add<std::byte>(desc.prepared ? 0 : static_cast<std::int64_t>(weights_bytes_));
  adds_at_ = shared.add<std::byte>(channels * 4);
  scales_at_ = shared.add<std::byte>(channels * 4);
  ones_at_ = shared.add<std::byte>(weights_row_);
  shared_bytes_ = shared.bytes();
  Parts slot;
  const bool product = way_ == Way::product;
  slot.add<std::byte>(product ? 0 : depth_ * static_cast<std::int64_t>(sizeof(void*)));
  packed_at_ = slot.add<std::byte>(product ? gemm_.packed_bytes(weights_row_, tile_) : 0);
  columns_at_ = slot.add<std::byte>(product && !desc.symmetric ? tile_ * 4 : 0);
  const bool stores = way_ == Way::depthwise_taps || !desc.symmetric || !quantizes_;
  sums_at_ = slot.add<std::byte>(stores ? (product ? row_block : 1) * tile_ * 4 : 0);
  bytes_at_ = slot.add<std::byte>(way_ == Way::depthwise_taps ? tile_ : 0);
  slot_bytes_ = slot.bytes();
  slots_bytes_ = ScratchPool::bytes(slot_bytes_, threads);
}

void Int8ConvPrimitive::run(ThreadPool& pool, const Int8ConvArgs& args, Workspace workspace) const {
  auto* const shared = static_cast<std::byte*>(workspace.data);
  const Call call = prepare_call(pool, args, shared);
  const bool product = way_ == Way::product;
  const std::int64_t tasks =
      shape_.batch * (product ? shape_.groups * tiles_ * parts_ : shape_.out_channels);
  const std::int64_t work = product                       ? part_ * depth_ * tile_ / 16
                            : way_ == Way::depthwise_rows ? depth_ * out_
                                                          : depth_ * out_ * 4;
  ScratchPool({shared + shared_bytes_, workspace.bytes - shared_bytes_}, slot_bytes_)
      .for_chunks(pool, tasks, grain_of(work, std::int64_t{1} << 18),
                  [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                    for (auto task = first; task < last; ++task) {
                      if (product) {
                        run_product(call, task, slot);
                      } else if (way_ == Way::depthwise_rows) {
                        run_rows(call, task);
                      } else {
                        run_taps(call, task, slot);
                      }
                    }
                  });
}

Int8ConvPrimitive::Call Int8ConvPrimitive::prepare_call(ThreadPool& pool, const Int8ConvArgs& args,
                                                        std::byte* shared) const {
  auto* const adds = reinterpret_cast<std::int32_t*>(shared + adds_at_);
  auto* const scales = reinterpret_cast<float*>(shared + scales_at_);
  Call call{args, args.x, args.prepared, adds, scales, nullptr};
  if (planes_ && !planes_->in_place()) {
    auto* const planes = reinterpret_cast<std::uint8_t*>(shared);
    copy_planes(pool, args, planes);
    call.planes = planes;
  }
  if (call.weights == nullptr) {
    std::byte* const weights = shared + weights_at_;
    pool.for_chunks(shape_.out_channels, grain_of(depth_, std::int64_t{1} << 16),
                    [&](std::int64_t first, std::int64_t last) {
                      for (auto i = first; i < last; ++i) {
                        prepare_channel(args.w, args.zw, args.zw_count, i, weights);
                      }
                    });
    call.weights = weights;
  }
  const auto* const sums = reinterpret_cast<const std::int32_t*>(call.weights + weight_sums_at_);
  for (std::int64_t i = 0; i < shape_.out_channels; ++i) {
    const std::int64_t zw = args.zw[args.zw_count > 1 ? i : 0];
    const std::int64_t bias = args.bias != nullptr ? args.bias[i] : 0;
    adds[i] = wrapped(bias - args.zx * (sums[i] - depth_ * zw));
    if (quantizes_) scales[i] = args.epilogue.scale(0, i);
  }
  const auto shifts = [](std::int32_t z) { return z != 0; };
  if (way_ == Way::product && std::any_of(args.zw, args.zw + args.zw_count, shifts)) {
    auto* const ones = reinterpret_cast<std::int8_t*>(shared + ones_at_);
    order_terms(nullptr, ones);
    call.ones = ones;
  }
  return call;
}

void Int8ConvPrimitive::copy_planes(ThreadPool& pool, const Int8ConvArgs& args,
                                    std::uint8_t* planes) const {
  const auto outside = static_cast<std::uint8_t>(args.zx ^ x_flip_);
  const std::int64_t in = volume(shape_.in);
  const std::int64_t size = planes_->size();
  pool.for_chunks(shape_.batch * shape_.in_channels, grain_of(size, std::int64_t{1} << 16),
                  [&](std::int64_t first, std::int64_t last) {
                    for (auto i = first; i < last; ++i) {
                      planes_->copy(args.x + i * in, planes + i * size, outside, gemm_);
                    }
                  });
}

void Int8ConvPrimitive::prepare(const std::uint8_t* w, std::byte* to) const {
  const std::int32_t zero = 0;
  for (std::int64_t i = 0; i < shape_.out_channels; ++i) prepare_channel(w, &zero, 1, i, to);
}

// The terms of a sum, [channel, tap], as units of channels have them (Int8Windows); others are 0.
// Without `from`, each is 1.
void Int8ConvPrimitive::order_terms(const std::uint8_t* from, std::int8_t* to) const {
  const std::int64_t unit = gemm_.unit;
  for (std::int64_t c = 0; c < round_up(in_group_, unit); ++c) {
    std::int8_t* const first = to + c / unit * unit * taps_ + c % unit;
    for (std::int64_t t = 0; t < taps_; ++t) {
      const bool absent = c >= in_group_;
      const std::uint8_t term = absent ? 0 : from == nullptr ? 1 : from[c * taps_ + t] ^ w_flip_;
      first[t * unit] = static_cast<std::int8_t>(term);
    }
  }
}

void Int8ConvPrimitive::prepare_channel(const std::uint8_t* weights, const std::int32_t* zeros,
                                        std::int64_t zw_count, std::int64_t channel,
                                        std::byte* to) const {
  const std::uint8_t* const w = weights + channel * depth_;
  std::byte* const row = to + channel * weights_row_;
  auto* const signed_row = reinterpret_cast<std::int8_t*>(row);
  auto& sum = reinterpret_cast<std::int32_t*>(to + weight_sums_at_)[channel];
  switch (way_) {
    case Way::product:
      sum = gemm_.sign_row(nullptr, w, depth_, w_flip_);
      order_terms(w, signed_row);
      break;
    case Way::depthwise_rows: {
      const std::int64_t columns = shape_.kernel[2];
      std::memset(row, 0, static_cast<std::size_t>(weights_row_));
      sum = 0;
      for (std::int64_t k = 0; k < shape_.kernel[1]; ++k) {
        sum += gemm_.sign_row(signed_row + k * round_up(columns, 4), w + k * columns, columns,
                              w_flip_);
      }
      break;
    }
    case Way::depthwise_taps:
      sum = gemm_.sign_row(nullptr, w, depth_, w_flip_);
      for (std::int64_t k = 0; k < depth_; ++k) {
        reinterpret_cast<std::int32_t*>(row)[k] =
            static_cast<std::int8_t>(w[k] ^ w_flip_) - zeros[zw_count > 1 ? channel : 0];
      }
      break;
  }
}

// The output plane of a channel.
Int8Quantized Int8ConvPrimitive::quantized(const Call& call, std::int64_t image,
                                           std::int64_t channel) const {
  const kernels::Int8Epilogue::Values& values = call.args.epilogue;
  auto* const y =
      static_cast<std::uint8_t*>(call.args.y) + (image * shape_.out_channels + channel) * out_;
  return {y,
          out_,
          call.adds + channel,
          call.scales + channel,
          values.lowest,
          values.highest,
          values.zero_point};
}

void Int8ConvPrimitive::run_product(const Call& call, std::int64_t task, std::byte* slot) const {
  const std::int64_t part = task % parts_;
  const std::int64_t tile_index = task / parts_ % tiles_;
  const std::int64_t group = task / parts_ / tiles_ % shape_.groups;
  const std::int64_t image = task / parts_ / tiles_ / shape_.groups;
  const Tile tile{image, tile_index * tile_, std::min(tile_, out_ - tile_index * tile_)};
  const std::int64_t plane = planes_ ? planes_->size() : volume(shape_.in);
  std::byte* const packed = slot + packed_at_;
  const std::int64_t block_bytes = gemm_.packed_bytes(weights_row_, int8_block);
  for (std::int64_t p = 0; p < tile.size; p += int8_block) {
    Int8Windows windows = windows_->of_block((tile.first + p) / int8_block);
    windows.planes = call.planes + (image * shape_.in_channels + group * in_group_) * plane;
    windows.plane_size = plane;
    windows.channels = in_group_;
    windows.outside = static_cast<std::uint8_t>(call.args.zx ^ x_flip_);
    windows.flip = x_flip_;
    checkpoint(weights_row_);
    gemm_.pack_windows(packed + p / int8_block * block_bytes, windows,
                       std::min(int8_block, tile.size - p));
  }
  const std::int64_t channel = group * out_group_ + part * part_;
  const std::int64_t count = std::min(part_, out_group_ - part * part_);
  if (count <= 0) return;
  if (!quantizes_ || call.ones != nullptr) return run_sums(call, tile, channel, count, slot);
  Int8Quantized to = quantized(call, image, channel);
  to.y += tile.first;
  const auto* const a = reinterpret_cast<const std::int8_t*>(call.weights) + channel * weights_row_;
  for_pieces(count, 1 + tile.size * weights_row_ / 64, [&](std::int64_t first, std::int64_t last) {
    Int8Quantized rows = to;
    rows.y += first * out_;
    rows.add += first;
    rows.scale += first;
    gemm_.run({last - first, tile.size, weights_row_, a + first * weights_row_, weights_row_,
               packed, nullptr, 0, &rows});
  });
}

void Int8ConvPrimitive::run_sums(const Call& call, const Tile& tile, std::int64_t channel,
                                 std::int64_t count, std::byte* slot) const {
  std::byte* const packed = slot + packed_at_;
  auto* const columns = reinterpret_cast<std::int32_t*>(slot + columns_at_);
  auto* const sums = reinterpret_cast<std::int32_t*>(slot + sums_at_);
  if (call.ones) gemm_.run({1, tile.size, weights_row_, call.ones, 0, packed, columns, tile_});
  for (std::int64_t i = 0; i < count; i += row_block) {
    const std::int64_t rows = std::min(row_block, count - i);
    checkpoint(rows * tile.size * weights_row_ / 64);
    const auto* const a =
        reinterpret_cast<const std::int8_t*>(call.weights) + (channel + i) * weights_row_;
    gemm_.run({rows, tile.size, weights_row_, a, weights_row_, packed, sums, tile_});
    for (std::int64_t c = 0; c < rows; ++c) {
      const std::int32_t zw = call.args.zw[call.args.zw_count > 1 ? channel + i + c : 0];
      if (zw != 0) gemm_.add_scaled(sums + c * tile_, -zw, columns, tile.size);
      finish(call, tile, channel + i + c, sums + c * tile_);
    }
  }
}

void Int8ConvPrimitive::finish(const Call& call, const Tile& tile, std::int64_t channel,
                               std::int32_t* sums) const {
  if (quantizes_) {
    const Int8Quantized to = quantized(call, tile.image, channel);
    return kernels_.quantize->requantize(
        to.y + tile.first, sums,
        {*to.add, nullptr, to.scale, false, to.lowest, to.highest, to.zero_point}, tile.size);
  }
  auto* const y = static_cast<std::int32_t*>(call.args.y) +
                  (tile.image * shape_.out_channels + channel) * out_ + tile.first;
  const std::int64_t add = call.adds[channel];
  for (std::int64_t j = 0; j < tile.size; ++j) y[j] = wrapped(sums[j] + add);
}

void Int8ConvPrimitive::run_rows(const Call& call, std::int64_t task) const {
  const ConvShape& s = shape_;
  const std::int64_t channel = task % s.out_channels;
  const std::int64_t image = task / s.out_channels;
  const auto* const weights = reinterpret_cast<const std::int8_t*>(call.weights);
  for_pieces(s.out[1], 1 + s.out[2] * depth_ / 16, [&](std::int64_t first, std::int64_t last) {
    Int8Quantized rows = quantized(call, image, channel);
    rows.y += first * s.out[2];
    gemm_.depthwise({s.in[1], s.in[2], last - first, s.out[2], s.kernel[1], s.kernel[2],
                     s.stride[1], s.stride[2], s.dilation[1], s.dilation[2],
                     s.pad[1] - first * s.stride[1], s.pad[2],
                     call.planes + (image * s.in_channels + channel / out_group_) * volume(s.in),
                     weights + channel * weights_row_,
                     static_cast<std::uint8_t>(call.args.zx ^ x_flip_), x_flip_, rows});
  });
}

}  // namespace ondine::math
