// How a convolution is computed: a function of its shape alone.
#pragma once

#include <algorithm>
#include <optional>

#include "kernels/common/scratch_pool.h"
#include "kernels/conv/conv_primitive.h"
#include "kernels/simd/conv/conv_table.h"
#include "kernels/simd/vector/vector_table.h"

namespace ondine::math {

inline std::int64_t round_up(std::int64_t a, std::int64_t unit) {
  return (a + unit - 1) / unit * unit;
}
inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
template <class T>
std::size_t bytes_of(std::int64_t elements) {
  return align_up(static_cast<std::size_t>(elements) * sizeof(T));
}
// Pieces of nearly the same size, none larger than `most`.
inline std::int64_t even_piece(std::int64_t n, std::int64_t most) {
  const std::int64_t pieces = std::max<std::int64_t>(1, (n + most - 1) / most);
  return std::max<std::int64_t>(1, (n + pieces - 1) / pieces);
}

enum class ConvPath { pointwise, depthwise, general };

inline bool is_pointwise(const ConvShape& s) {
  const Extents ones{1, 1, 1};
  return volume(s.kernel) == 1 && s.stride == ones && s.pad == Extents{0, 0, 0} && s.in == s.out;
}

inline ConvPath path_of(const ConvShape& s) {
  const bool flat = s.kernel[0] == 1 && s.stride[0] == 1 && s.pad[0] == 0 && s.in[0] == s.out[0];
  if (flat && s.groups == s.in_channels && s.groups > 1 && s.out_channels == s.groups) {
    return ConvPath::depthwise;
  }
  return s.groups == 1 && is_pointwise(s) ? ConvPath::pointwise : ConvPath::general;
}

// The sizes of a convolution and of the blocks in which the general path works: `tile` output
// positions of `channels` input channels at a time.
struct ConvPlan {
  ConvPlan(const ConvShape& s, std::int64_t most_rows, std::int64_t most_positions,
           std::int64_t unit)
      : in_group(s.in_channels / s.groups),
        out_group(s.out_channels / s.groups),
        taps(volume(s.kernel)),
        depth(in_group * taps),
        in_plane(volume(s.in)),
        out_plane(volume(s.out)),
        channels(even_piece(
            in_group, std::max<std::int64_t>(1, most_rows / std::max<std::int64_t>(1, taps)))),
        tile(round_up(even_piece(out_plane, most_positions), unit)),
        blocks((in_group + channels - 1) / channels),
        tiles((out_plane + tile - 1) / tile) {}

  std::int64_t in_group, out_group;  // channels of a group
  std::int64_t taps;                 // of the window
  std::int64_t depth;                // weights of an output channel
  std::int64_t in_plane, out_plane;
  std::int64_t channels, tile;
  std::int64_t blocks, tiles;
};

inline ColumnBlock column_block(const ConvShape& s, std::int64_t channels, std::int64_t first,
                                std::int64_t last, std::int64_t width) {
  return {s.in, s.kernel, s.out, s.stride, s.dilation, s.pad, channels, first, last, width};
}

inline Plane plane_of(const ConvShape& s) {
  return {s.in[1],     s.in[2],     s.kernel[1],   s.kernel[2],   s.out[1], s.out[2],
          s.stride[1], s.stride[2], s.dilation[1], s.dilation[2], s.pad[1], s.pad[2]};
}
// Planes that fit a second cache are convolved with their channels in the lanes of vectors; with
// a stride, where the other path moves more, up to a larger size.
template <class T>
bool takes_lanes(const ConvShape& s, const Kernels& kernels) {
  const bool strided = s.stride != Extents{1, 1, 1};
  const std::int64_t most_bytes = (strided ? 1100 : 450) * 1024;
  const auto& lanes = *kernel_set<T>(kernels).lanes;
  return path_of(s) == ConvPath::depthwise && s.in[0] == 1 && s.groups >= lanes.lanes &&
         lanes.scratch_bytes(plane_of(s)) <= most_bytes;
}
// Scratch memory of a task of either depthwise path.
template <class T>
std::size_t depthwise_bytes(const ConvShape& s, const Kernels& kernels) {
  const auto& set = kernel_set<T>(kernels);
  return static_cast<std::size_t>(takes_lanes<T>(s, kernels)
                                      ? set.lanes->scratch_bytes(plane_of(s))
                                      : set.planes->scratch_bytes(plane_of(s)));
}
// Blocks of channels of the lanes, and how many make a task worth a thread.
template <class T>
struct LaneTasks {
  LaneTasks(const ConvShape& s, const Kernels& kernels)
      : lanes(kernel_set<T>(kernels).lanes->lanes),
        blocks((s.groups + lanes - 1) / lanes),
        grain(std::max<std::int64_t>(
            1, (std::int64_t{1} << 17) /
                   std::max<std::int64_t>(1, s.batch * lanes * volume(s.kernel) *
                                                 std::max(volume(s.in), volume(s.out))))),
        channels(s.groups),
        batch(s.batch),
        in(volume(s.in)),
        out(volume(s.out)),
        scratch(depthwise_bytes<T>(s, kernels)) {}
  // body(first channel, scratch) for every block.
  template <class Body>
  void run(ThreadPool& pool, Workspace workspace, const Body& body) const {
    ScratchPool(workspace, scratch)
        .for_chunks(pool, blocks, grain,
                    [&](std::byte* memory, std::int64_t begin, std::int64_t end) {
                      for (std::int64_t block = begin; block < end; ++block) {
                        body(block * lanes, memory);
                      }
                    });
  }
  LaneBlock block(std::int64_t first) const {
    return {batch, std::min(lanes, channels - first), channels * in, channels * out};
  }
  std::int64_t lanes, blocks, grain;
  std::int64_t channels, batch, in, out;
  std::size_t scratch;
};
// A flat depth is more planes: with in[0] == out[0] > 1 each is convolved alone.
inline std::int64_t layers(const ConvShape& s) { return s.in[0]; }

inline bool is_empty(const ConvShape& s) {
  return s.batch == 0 || s.out_channels == 0 || volume(s.out) == 0;
}

template <class T>
std::size_t scratch_of(const GemmCall<T>& call, const Kernels& kernels) {
  return static_cast<std::size_t>(kernel_set<T>(kernels).gemm->scratch_bytes(call));
}

}  // namespace ondine::math
