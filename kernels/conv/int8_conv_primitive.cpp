#include "kernels/conv/int8_conv_primitive.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/common/scratch_pool.h"
#include "kernels/conv/algorithms/algorithm.h"

namespace ondine::math {
namespace {

constexpr std::int64_t row_block = 64;             // output channels of a product
constexpr std::int64_t packed_limit = 192 * 1024;  // bytes of B of a product
constexpr std::int64_t depthwise_tile = 4096;

std::int32_t wrapped(std::int64_t x) { return static_cast<std::int32_t>(x); }

// Rows of planes are short: a call of memcpy would cost more.
void copy_row(std::uint8_t* to, const std::uint8_t* from, std::int64_t n) {
  const auto pieces = [&]<std::int64_t size>(std::integral_constant<std::int64_t, size>) {
    for (std::int64_t i = 0; i + size <= n; i += size) std::memcpy(to + i, from + i, size);
    std::memcpy(to + n - size, from + n - size, size);  // some of them once more
  };
  if (n >= 16) return pieces(std::integral_constant<std::int64_t, 16>());
  if (n >= 4) return pieces(std::integral_constant<std::int64_t, 4>());
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}

class Layout {
 public:
  std::size_t add(std::int64_t bytes) {
    const std::size_t at = bytes_;
    bytes_ += align_up(static_cast<std::size_t>(bytes));
    return at;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace

Int8ConvPrimitive::Int8ConvPrimitive(const Int8ConvDesc& desc, int threads, const Kernels& kernels,
                                     const Int8GemmKernels& gemm)
    : shape_(desc.shape),
      x_flip_(kernels::flip_to_unsigned(desc.x)),
      w_flip_(kernels::flip_to_signed(desc.w)),
      quantizes_(desc.quantizes),
      kernels_(kernels),
      gemm_(gemm),
      in_group_(shape_.in_channels / shape_.groups),
      out_group_(shape_.out_channels / shape_.groups) {
  depthwise_ = in_group_ == 1 && out_group_ <= 4;
  depth_ = in_group_ * volume(shape_.kernel);
  set_planes();
  const std::int64_t units = round_up(std::max<std::int64_t>(1, depth_), gemm_.unit);
  const std::int64_t wanted = packed_limit / (units * 4 / gemm_.unit) / gemm_.nr * gemm_.nr;
  const std::int64_t limit =
      depthwise_ ? depthwise_tile : std::clamp<std::int64_t>(wanted, gemm_.nr, 512);
  tile_ = round_up(even_chunk(positions_, limit), gemm_.nr);
  tiles_ = divide_up(positions_, tile_);
  set_workspace(threads);
}

void Int8ConvPrimitive::set_planes() {
  const ConvShape& s = shape_;
  in_place_ = true;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t reach = (s.kernel[i] - 1) * s.dilation[i];
    phases_[i] = std::min(s.stride[i], reach + 1);
    plane_[i] = s.out[i] + reach / s.stride[i];
    in_place_ = in_place_ && s.stride[i] == 1 && s.pad[i] == 0 && plane_[i] == s.in[i];
  }
  plane_size_ = volume(phases_) * volume(plane_);
  const auto at = [](const SpatialDims& x, const SpatialDims& dims) {
    return (x[0] * dims[1] + x[1]) * dims[2] + x[2];
  };
  SpatialDims k{};
  for (k[0] = 0; k[0] < s.kernel[0]; ++k[0]) {
    for (k[1] = 0; k[1] < s.kernel[1]; ++k[1]) {
      for (k[2] = 0; k[2] < s.kernel[2]; ++k[2]) {
        SpatialDims phase{};
        SpatialDims offset{};
        for (std::size_t i = 0; i < 3; ++i) {
          phase[i] = k[i] * s.dilation[i] % s.stride[i];
          offset[i] = k[i] * s.dilation[i] / s.stride[i];
        }
        taps_.push_back(at(phase, phases_) * volume(plane_) + at(offset, plane_));
      }
    }
  }
  positions_ = at({s.out[0] - 1, s.out[1] - 1, s.out[2] - 1}, plane_) + 1;
}

void Int8ConvPrimitive::set_workspace(int threads) {
  const std::int64_t channels = shape_.out_channels;
  Layout shared;
  if (!in_place_) shared.add(shape_.batch * shape_.in_channels * plane_size_);
  weights_at_ = shared.add(w_flip_ != 0 ? channels * depth_ : 0);
  factors_at_ = shared.add(depthwise_ ? channels * depth_ * 4 : 0);
  adds_at_ = shared.add(channels * 4);
  ones_at_ = shared.add(depth_);
  shared_bytes_ = shared.bytes();
  Layout slot;
  slot.add(depth_ * static_cast<std::int64_t>(sizeof(void*)));
  packed_at_ = slot.add(depthwise_ ? 0 : gemm_.packed_bytes(depth_, tile_));
  columns_at_ = slot.add(tile_ * 4);
  sums_at_ = slot.add((depthwise_ ? 1 : row_block) * tile_ * 4);
  bytes_at_ = slot.add(tile_);
  slot_bytes_ = slot.bytes();
  slots_bytes_ = ScratchPool::bytes(slot_bytes_, threads);
}

void Int8ConvPrimitive::run(ThreadPool& pool, const Int8ConvArgs& args, Workspace workspace) const {
  auto* const shared = static_cast<std::byte*>(workspace.data);
  const Call call = prepare(pool, args, shared);
  const std::int64_t tasks =
      shape_.batch * (depthwise_ ? shape_.out_channels : shape_.groups * tiles_);
  const std::int64_t work = depthwise_ ? depth_ * positions_ * 4 : out_group_ * depth_ * tile_ / 16;
  ScratchPool({shared + shared_bytes_, workspace.bytes - shared_bytes_}, slot_bytes_)
      .for_chunks(pool, tasks, grain_of(work, std::int64_t{1} << 18),
                  [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                    for (auto task = first; task < last; ++task) {
                      depthwise_ ? run_depthwise(call, task, slot) : run_product(call, task, slot);
                    }
                  });
}

Int8ConvPrimitive::Call Int8ConvPrimitive::prepare(ThreadPool& pool, const Int8ConvArgs& args,
                                                   std::byte* shared) const {
  Call call{args,
            args.x,
            reinterpret_cast<const std::int8_t*>(
                w_flip_ != 0 ? shared + weights_at_ : reinterpret_cast<const std::byte*>(args.w)),
            reinterpret_cast<const std::int32_t*>(shared + factors_at_),
            reinterpret_cast<const std::int32_t*>(shared + adds_at_),
            nullptr};
  if (!in_place_) {
    auto* const planes = reinterpret_cast<std::uint8_t*>(shared);
    const auto outside = static_cast<std::uint8_t>(args.zx ^ x_flip_);
    const std::int64_t in = volume(shape_.in);
    pool.for_chunks(shape_.batch * shape_.in_channels, grain_of(plane_size_, std::int64_t{1} << 16),
                    [&](std::int64_t first, std::int64_t last) {
                      for (auto i = first; i < last; ++i) {
                        copy_plane(args.x + i * in, planes + i * plane_size_, outside);
                      }
                    });
    call.planes = planes;
  }
  pool.for_chunks(shape_.out_channels, grain_of(depth_, std::int64_t{1} << 16),
                  [&](std::int64_t first, std::int64_t last) {
                    for (auto i = first; i < last; ++i) prepare_channel(args, i, shared);
                  });
  if (!depthwise_ && std::any_of(args.zw, args.zw + args.zw_count, [](auto z) { return z != 0; })) {
    call.ones = reinterpret_cast<std::int8_t*>(shared + ones_at_);
    std::memset(shared + ones_at_, 1, static_cast<std::size_t>(depth_));
  }
  return call;
}

void Int8ConvPrimitive::prepare_channel(const Int8ConvArgs& args, std::int64_t channel,
                                        std::byte* shared) const {
  const std::uint8_t* const w = args.w + channel * depth_;
  auto* const signed_w = reinterpret_cast<std::int8_t*>(shared + weights_at_) + channel * depth_;
  const std::int32_t sum = gemm_.sign_row(w_flip_ != 0 ? signed_w : nullptr, w, depth_, w_flip_);
  const std::int64_t zw = args.zw[args.zw_count > 1 ? channel : 0];
  const std::int64_t bias = args.bias != nullptr ? args.bias[channel] : 0;
  reinterpret_cast<std::int32_t*>(shared + adds_at_)[channel] =
      wrapped(bias - args.zx * (sum - depth_ * zw));
  if (!depthwise_) return;
  auto* const factors = reinterpret_cast<std::int32_t*>(shared + factors_at_) + channel * depth_;
  for (std::int64_t k = 0; k < depth_; ++k) {
    factors[k] = wrapped(static_cast<std::int8_t>(w[k] ^ w_flip_) - zw);
  }
}

void Int8ConvPrimitive::copy_plane(const std::uint8_t* from, std::uint8_t* to,
                                   std::uint8_t outside) const {
  std::memset(to, outside, static_cast<std::size_t>(plane_size_));
  SpatialDims phase{};
  for (phase[0] = 0; phase[0] < phases_[0]; ++phase[0]) {
    for (phase[1] = 0; phase[1] < phases_[1]; ++phase[1]) {
      for (phase[2] = 0; phase[2] < phases_[2]; ++phase[2]) {
        copy_phase(from, to, phase);
        to += volume(plane_);
      }
    }
  }
}

void Int8ConvPrimitive::copy_phase(const std::uint8_t* from, std::uint8_t* to,
                                   const SpatialDims& phase) const {
  const ConvShape& s = shape_;
  const std::int64_t stride = s.stride[2];
  const std::int64_t shift = phase[2] - s.pad[2];
  // Columns [low, high) lie in the input.
  const std::int64_t low = std::clamp<std::int64_t>(divide_up(-shift, stride), 0, plane_[2]);
  const std::int64_t high =
      std::clamp<std::int64_t>(divide_up(s.in[2] - shift, stride), low, plane_[2]);
  for (std::int64_t d = 0; d < plane_[0]; ++d) {
    const std::int64_t z = d * s.stride[0] + phase[0] - s.pad[0];
    for (std::int64_t h = 0; h < plane_[1]; ++h, to += plane_[2]) {
      const std::int64_t y = h * s.stride[1] + phase[1] - s.pad[1];
      if (z < 0 || z >= s.in[0] || y < 0 || y >= s.in[1] || low == high) continue;
      const std::uint8_t* const row = from + (z * s.in[1] + y) * s.in[2] + low * stride + shift;
      if (stride == 1) {
        copy_row(to + low, row, high - low);
      } else {
        gemm_.copy_strided(to + low, row, stride, high - low);
      }
    }
  }
}

void Int8ConvPrimitive::rows_of(const Call& call, std::int64_t image, std::int64_t channel,
                                std::int64_t count, const std::uint8_t** rows) const {
  for (std::int64_t c = 0; c < count; ++c) {
    const std::uint8_t* const plane =
        call.planes + (image * shape_.in_channels + channel + c) * plane_size_;
    for (const std::int64_t tap : taps_) *rows++ = plane + tap;
  }
}

void Int8ConvPrimitive::run_product(const Call& call, std::int64_t task, std::byte* slot) const {
  auto** const rows = reinterpret_cast<const std::uint8_t**>(slot);
  auto* const packed = slot + packed_at_;
  auto* const columns = reinterpret_cast<std::int32_t*>(slot + columns_at_);
  auto* const sums = reinterpret_cast<std::int32_t*>(slot + sums_at_);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(slot + bytes_at_);
  const std::int64_t group = task / tiles_ % shape_.groups;
  Tile tile{task / tiles_ / shape_.groups, task % tiles_ * tile_, 0};
  tile.size = std::min(tile_, positions_ - tile.first);
  rows_of(call, tile.image, group * in_group_, in_group_, rows);
  gemm_.pack_rows(packed, rows, tile.first, depth_, tile.size, x_flip_);
  if (call.ones) gemm_.run({1, tile.size, depth_, call.ones, 0, packed, columns, tile_});
  for (std::int64_t i = 0; i < out_group_; i += row_block) {
    const std::int64_t count = std::min(row_block, out_group_ - i);
    const std::int64_t channel = group * out_group_ + i;
    gemm_.run(
        {count, tile.size, depth_, call.weights + channel * depth_, depth_, packed, sums, tile_});
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int32_t zw = call.args.zw[call.args.zw_count > 1 ? channel + c : 0];
      if (zw != 0) gemm_.add_scaled(sums + c * tile_, -zw, columns, tile.size);
      finish(call, tile, channel + c, sums + c * tile_, bytes);
    }
  }
}

void Int8ConvPrimitive::run_depthwise(const Call& call, std::int64_t task, std::byte* slot) const {
  auto** const rows = reinterpret_cast<const std::uint8_t**>(slot);
  auto* const sums = reinterpret_cast<std::int32_t*>(slot + sums_at_);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(slot + bytes_at_);
  const std::int64_t channel = task % shape_.out_channels;
  Tile tile{task / shape_.out_channels, 0, 0};
  rows_of(call, tile.image, channel / out_group_, 1, rows);
  for (; tile.first < positions_; tile.first += tile_) {
    tile.size = std::min(tile_, positions_ - tile.first);
    gemm_.taps(sums, call.factors + channel * depth_, rows, tile.first, depth_, tile.size, x_flip_);
    finish(call, tile, channel, sums, bytes);
  }
}

void Int8ConvPrimitive::finish(const Call& call, const Tile& tile, std::int64_t channel,
                               std::int32_t* sums, std::uint8_t* bytes) const {
  const std::int64_t out = volume(shape_.out);
  const std::int64_t at = (tile.image * shape_.out_channels + channel) * out;
  if (!quantizes_) {
    const std::int64_t add = call.adds[channel];
    for (std::int64_t j = 0; j < tile.size; ++j) sums[j] = wrapped(sums[j] + add);
    return store(static_cast<std::int32_t*>(call.args.y) + at, sums, tile);
  }
  const kernels::Int8Epilogue::Values& values = call.args.epilogue;
  const double scale = values.scale(0, channel);
  auto* const y = static_cast<std::uint8_t*>(call.args.y) + at;
  const bool whole = positions_ == out;
  kernels_.quantize->requantize(whole ? y + tile.first : bytes, sums,
                                {call.adds[channel], nullptr, &scale, false, values.lowest,
                                 values.highest, values.zero_point},
                                tile.size);
  if (!whole) store(y, bytes, tile);
}

// The positions of a tile that belong to the output plane.
template <class T>
void Int8ConvPrimitive::store(T* plane, const T* from, const Tile& tile) const {
  const std::int64_t end = tile.first + tile.size;
  for (std::int64_t p = tile.first; p < end;) {
    const std::int64_t row = p / plane_[2];
    const std::int64_t column = p % plane_[2];
    const std::int64_t d = row / plane_[1];
    const std::int64_t h = row % plane_[1];
    const std::int64_t left = std::min(plane_[2] - column, end - p);
    const std::int64_t count = std::min(left, shape_.out[2] - column);
    if (h < shape_.out[1] && count > 0) {
      T* const to = plane + (d * shape_.out[1] + h) * shape_.out[2] + column;
      copy_row(reinterpret_cast<std::uint8_t*>(to),
               reinterpret_cast<const std::uint8_t*>(from + (p - tile.first)),
               count * static_cast<std::int64_t>(sizeof(T)));
    }
    p += left;
  }
}

}  // namespace ondine::math
