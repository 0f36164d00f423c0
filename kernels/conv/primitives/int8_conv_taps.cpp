// The depthwise convolutions that multiply rows of padded planes.
#include <algorithm>

#include "core/stop.h"
#include "kernels/conv/primitives/int8_conv_primitive.h"

namespace ondine::math {
namespace {

std::int32_t wrapped(std::int64_t x) { return static_cast<std::int32_t>(x); }

}  // namespace

void Int8ConvPrimitive::run_taps(const Call& call, std::int64_t task, std::byte* slot) const {
  auto** const rows = reinterpret_cast<const std::uint8_t**>(slot);
  auto* const sums = reinterpret_cast<std::int32_t*>(slot + sums_at_);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(slot + bytes_at_);
  const std::int64_t channel = task % shape_.out_channels;
  Tile tile{task / shape_.out_channels, 0, 0};
  const std::uint8_t* const plane =
      call.planes + (tile.image * shape_.in_channels + channel / out_group_) * planes_->size();
  for (std::size_t i = 0; i < planes_->taps().size(); ++i) rows[i] = plane + planes_->taps()[i];
  const auto* const factors =
      reinterpret_cast<const std::int32_t*>(call.weights + channel * weights_row_);
  for (; tile.first < planes_->positions(); tile.first += tile_) {
    tile.size = std::min(tile_, planes_->positions() - tile.first);
    checkpoint(depth_ * tile.size / 8);
    gemm_.taps(sums, factors, rows, tile.first, depth_, tile.size, x_flip_);
    finish_taps(call, tile, channel, sums, bytes);
  }
}

void Int8ConvPrimitive::finish_taps(const Call& call, const Tile& tile, std::int64_t channel,
                                    std::int32_t* sums, std::uint8_t* bytes) const {
  if (planes_->positions() == out_) return finish(call, tile, channel, sums);
  if (quantizes_) {
    const Int8Quantized to = quantized(call, tile.image, channel);
    kernels_.quantize->requantize(
        bytes, sums, {*to.add, nullptr, to.scale, false, to.lowest, to.highest, to.zero_point},
        tile.size);
    return store(to.y, bytes, tile);
  }
  const std::int64_t add = call.adds[channel];
  for (std::int64_t j = 0; j < tile.size; ++j) sums[j] = wrapped(sums[j] + add);
  store(
      static_cast<std::int32_t*>(call.args.y) + (tile.image * shape_.out_channels + channel) * out_,
      sums, tile);
}

// The positions of a tile that belong to the output plane.
template <class T>
void Int8ConvPrimitive::store(T* plane, const T* from, const Tile& tile) const {
  const SpatialDims& dims = planes_->dims();
  const std::int64_t end = tile.first + tile.size;
  for (std::int64_t p = tile.first; p < end;) {
    const std::int64_t row = p / dims[2];
    const std::int64_t column = p % dims[2];
    const std::int64_t d = row / dims[1];
    const std::int64_t h = row % dims[1];
    const std::int64_t left = std::min(dims[2] - column, end - p);
    const std::int64_t count = std::min(left, shape_.out[2] - column);
    if (h < shape_.out[1] && count > 0) {
      T* const to = plane + (d * shape_.out[1] + h) * shape_.out[2] + column;
      copy_short_row(reinterpret_cast<std::uint8_t*>(to),
                     reinterpret_cast<const std::uint8_t*>(from + (p - tile.first)),
                     count * static_cast<std::int64_t>(sizeof(T)));
    }
    p += left;
  }
}

}  // namespace ondine::math
