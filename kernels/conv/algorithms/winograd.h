// Winograd convolution: the tiles of 3 x 3 windows and the products in the transformed space.
// winograd_form.h says which products: those of stride 1, of stride 2 and of its gradient by x.
#pragma once

#include "kernels/conv/algorithms/directed_shape.h"
#include "kernels/simd/conv/winograd_form.h"

namespace ondine::math {

inline const WinogradForm& winograd_form(const ConvDesc& desc) {
  if (desc.shape.stride[1] == 1) return winograd_unit;
  return desc.direction == ConvDirection::backward_data ? winograd_strided_back : winograd_strided;
}
template <class T>
const WinogradTransforms<T>& winograd_transforms(const ConvDesc& desc, const SimdTablesOf<T>& set) {
  const WinogradForm& form = winograd_form(desc);
  return &form == &winograd_unit      ? set.winograd->unit
         : &form == &winograd_strided ? set.winograd->strided
                                      : set.winograd->strided_back;
}

// Rows of tiles, those of all images one after another, in blocks. Tiles that reach beyond the
// right edge of a plane lie first in a block, those beyond the lower edge last: a component of
// which only results there are part counts for the others, side by side.
class WinogradTiling {
 public:
  static constexpr std::int64_t max_tiles = 64;  // of a task
  WinogradTiling(const ConvDesc& desc, const DirectedShape& d)
      : form(winograd_form(desc)),
        down(divide_up(d.out[1], form.tile())),
        across(divide_up(d.out[2], form.tile())),
        rows(desc.shape.batch * down),
        pad_h(d.backward ? d.pad_h / desc.shape.stride[1] : d.pad_h),
        pad_w(d.backward ? d.pad_w / desc.shape.stride[2] : d.pad_w),
        odd_h_(desc.shape.pad[1] % 2 != 0),
        odd_w_(desc.shape.pad[2] % 2 != 0),
        last_h_(d.out[1] - (down - 1) * form.tile()),
        last_w_(d.out[2] - (across - 1) * form.tile()) {
    const std::int64_t tiles = std::clamp<std::int64_t>(rows * across / 4, 16, max_tiles);
    block = even_chunk(rows, std::max<std::int64_t>(1, tiles / across));
    blocks = divide_up(rows, block);
  }

  // body(image, rows of tiles of that image)
  template <class Body>
  void for_runs(std::int64_t which, Body&& body) const {
    const std::int64_t end = std::min(rows, (which + 1) * block);
    const Tiles tiles = tiles_of(which);
    std::int64_t whole = 0, below = 0;  // rows before
    for (std::int64_t row = which * block; row < end;) {
      TileRows run = run_of(row % down, std::min(end - row, down - row % down));
      const std::int64_t last = tiles.whole + tiles.right;
      run.start[0][0] = tiles.right + whole * run.whole_columns;
      run.start[0][1] = whole;
      run.start[1][0] = last + below * run.whole_columns;
      run.start[1][1] = last + tiles.below + below;
      body(row / down, run);
      whole += run.whole_rows;
      below += run.rows - run.whole_rows;
      row += run.rows;
    }
  }
  std::int64_t tiles() const { return rows * across; }
  std::int64_t tiles_in(std::int64_t which) const {
    return (std::min(rows, (which + 1) * block) - which * block) * across;
  }
  // Tiles of a block of whose results the component `result` is part.
  struct Range {
    std::int64_t first, count;
  };
  Range range_of(std::int64_t which, std::int64_t result) const {
    const Tiles tiles = tiles_of(which);
    const std::int64_t edge = form.axis().results;
    const bool below = form.is_part(result / edge, last_h_, odd_h_);
    const bool right = form.is_part(result % edge, last_w_, odd_w_);
    std::int64_t count = tiles.whole;
    if (right) count += tiles.right;
    if (below) count += tiles.below;
    if (right && below) count += tiles.corner;
    return {right ? 0 : tiles.right, count};
  }
  TileRows largest_run() const { return run_of(0, std::min(block, down)); }

  const WinogradForm& form;
  std::int64_t down, across;
  std::int64_t rows;   // of tiles, of all images
  std::int64_t block;  // rows of a task
  std::int64_t blocks;
  std::int64_t pad_h, pad_w;  // of the source

 private:
  // Tiles of a block that are whole, and that reach beyond the right edge, the lower one and both.
  struct Tiles {
    std::int64_t whole, right, below, corner;
  };
  Tiles tiles_of(std::int64_t which) const {
    const std::int64_t begin = which * block, end = std::min(rows, begin + block);
    const std::int64_t columns = whole_columns();
    const std::int64_t below = reaches_below() ? end / down - begin / down : 0;
    const std::int64_t whole = end - begin - below;
    return {whole * columns, whole * (across - columns), below * columns,
            below * (across - columns)};
  }
  bool reaches_below() const { return last_h_ < form.tile(); }
  std::int64_t whole_columns() const { return last_w_ < form.tile() ? across - 1 : across; }

  TileRows run_of(std::int64_t first, std::int64_t count) const {
    TileRows run{};
    run.first = first;
    run.rows = count;
    run.across = across;
    run.whole_rows = reaches_below() && first + count == down ? count - 1 : count;
    run.whole_columns = whole_columns();
    run.odd_h = odd_h_;
    run.odd_w = odd_w_;
    return run;
  }

  bool odd_h_, odd_w_;
  std::int64_t last_h_, last_w_;  // results of the last tiles along the axes
};

// From a component of so many elements to the next: an odd number of cache lines, so that the
// components of a tile do not share sets of a cache.
template <class T>
std::int64_t component_step(std::int64_t elements) {
  return odd_lines(elements, 64 / std::int64_t{sizeof(T)});
}

// Sets the planes of a run of tiles and the layout of its components.
inline void set_planes(TileRows& run, const SpatialDims& plane, std::int64_t channels,
                       std::int64_t ld, std::int64_t component) {
  run.height = plane[1];
  run.width = plane[2];
  run.channels = channels;
  run.ld = ld;
  run.component = component;
}

// Channels of the result that products compute: the last panel may have fewer than its width.
template <class T>
std::int64_t whole_lanes(const SimdTablesOf<T>& set, std::int64_t channels) {
  return round_up(channels, set.depthwise_channels->lanes);
}

// How inner channels lie in components: elements of a tile, and rows of a panel of weights.
template <class T>
struct InnerChannels {
  InnerChannels(const SimdTablesOf<T>& set, std::int64_t inner)
      : paired(set.winograd->channels > 1),
        ld(round_up(inner, set.depthwise_channels->lanes) / set.winograd->channels),
        rows(divide_up(inner, set.winograd->channels)) {}
  bool paired;  // as bfloat16
  std::int64_t ld, rows;
};

// A component of the result: (tiles x inner) times (inner x outer) in panels.
template <class T>
GemmCall<T> component_product(std::int64_t tiles, std::int64_t outer, std::int64_t inner,
                              const InnerChannels<T>& channels, std::int64_t panel,
                              std::int64_t ldc) {
  GemmCall<T> call{};
  call.a_paired = channels.paired;
  call.m = tiles;
  call.n = outer;
  call.k = inner;
  call.a_row = channels.ld;
  call.a_col = 1;
  call.b_col = 1;
  call.b_row = panel;
  call.b_packed = true;
  call.ldc = ldc;
  call.alpha = 1;
  return call;
}

// The share of part `part` of `parts` in `rows` of `row` elements each, `stride` apart.
template <class T>
RowsAhead part_of_rows(const T* first, std::int64_t rows, std::int64_t row, std::int64_t stride,
                       std::int64_t part, std::int64_t parts) {
  constexpr std::int64_t size = sizeof(T);
  const std::int64_t begin = rows * part / parts;
  const std::int64_t end = rows * (part + 1) / parts;
  return {first + begin * stride, end - begin, row * size, stride * size};
}

// Scratch memory of a task: for transforming rows of tiles or for a product.
template <class T>
std::size_t winograd_scratch(const WinogradTransforms<T>& transforms, TileRows largest,
                             const SpatialDims& source, const SimdTablesOf<T>& set,
                             const GemmCall<T>& product) {
  largest.width = source[2];
  return std::max(bytes_of<std::byte>(transforms.scratch_bytes(largest)), scratch_of(product, set));
}

// backward_weights.
template <class T>
MadeConv<T> make_winograd_weights(const ConvDesc& desc, const SimdTables& kernels);

}  // namespace ondine::math
