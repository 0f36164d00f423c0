// Functions that each instruction set provides for convolutions. Channels are called inner if they
// are summed over, and outer if they are those of the result.
#pragma once

#include "kernels/simd/conv/spatial_dims.h"
#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/norm/batch_norm_table.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

// A block of the matrix whose product with the weights is a convolution: row (c, kd, kh, kw), one
// column for each output position. Columns lie in panels of `width`, each rows x width; a plain
// matrix is one panel.
struct Im2colBlock {
  SpatialDims in, kernel, out, stride, dilation, pad;
  std::int64_t channels;     // of the block
  std::int64_t first, last;  // output positions, those of further images after those of the first
  std::int64_t width;
  std::int64_t image = 0;  // elements from an image of x to the next
};

// Elements that the lanes of a vector take from the elements [start, start + 2 lanes) of a plane:
// the bits of `lanes` say which lanes take one, `from` says where. Other lanes are zeros.
struct GatherWindow {
  std::int32_t start;
  std::uint16_t lanes;
  std::uint8_t from[16];
};

// The columns of a plane: `counts` windows for each vector of positions of each tap.
struct GatherTable {
  std::int64_t taps, vectors;
  const std::uint8_t* counts;
  const GatherWindow* windows;
};

template <class T>
struct Im2colKernels {
  // x: the first channel of the block. The last panel is filled up with zeros.
  void (*gather)(const Im2colBlock& block, const T* x, T* columns);
  // x += what gather would have read from there.
  void (*scatter)(const Im2colBlock& block, const T* columns, T* x);

  // The columns of planes of so many elements, at most max_plane, one after the other: whole
  // vectors, in rows of `row` elements. Null where the instruction set has no such shuffles.
  void (*gather_planes)(const GatherTable& table, std::int64_t plane, std::int64_t planes,
                        const T* x, T* columns, std::int64_t row) = nullptr;
  std::int64_t lanes = 0;  // of gather_planes
  static constexpr std::int64_t max_plane = 1024;
};

// One plane and its window: dims of a convolution of rank 2.
struct ConvPlane {
  std::int64_t in_h, in_w, kernel_h, kernel_w, out_h, out_w;
  std::int64_t stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
};

// A convolution of one plane by one kernel.
template <class T>
struct DepthwiseRowKernels {
  std::int64_t (*scratch_bytes)(const ConvPlane& plane);  // of any of the three
  void (*forward)(const ConvPlane& plane, const T* x, const T* w, T bias, Activation activation,
                  T* y, void* scratch);
  // Overwrites dx.
  void (*backward_data)(const ConvPlane& plane, const T* dy, const T* w, T bias, T* dx,
                        void* scratch);
  // dw += ...
  void (*backward_weights)(const ConvPlane& plane, const T* x, const T* dy, T* dw, void* scratch);
};

// Small planes convolved each by its own kernel, channels side by side in the lanes of vectors.
struct ChannelBlock {
  std::int64_t images;
  std::int64_t channels;          // 1 to `lanes`
  std::int64_t x_image, y_image;  // elements from an image to the next
};

template <class T>
struct DepthwiseChannelKernels {
  std::int64_t lanes;
  std::int64_t (*scratch_bytes)(const ConvPlane& plane);
  // w: channels x taps; bias: channels values or null.
  void (*forward)(const ConvPlane& plane, const ChannelBlock& block, const T* x, const T* w,
                  const T* bias, Activation activation, T* y, void* scratch);
  // Both overwrite their result.
  void (*backward_data)(const ConvPlane& plane, const ChannelBlock& block, const T* dy, const T* w,
                        const T* bias, T* dx, void* scratch);
  void (*backward_weights)(const ConvPlane& plane, const ChannelBlock& block, const T* x,
                           const T* dy, T* dw, void* scratch);
};

// Elements from a plane of x and of y to those that come next.
struct PlaneStrides {
  std::int64_t x, y;
};

// The planes for which strips pay. Narrow ones leave too many lanes idle. Large ones leave a cache
// while their strips are walked one after the other; the limit is higher where all planes together
// fit a cache.
struct StripLimits {
  std::int64_t min_width;  // columns
  std::int64_t max_bytes;
  std::int64_t max_cached_bytes;  // of planes that take at most cached_bytes together
  static constexpr std::int64_t cached_bytes = std::int64_t{8} << 20;
};

// Depthwise convolutions of float by 3 x 3 taps around each position, of `forward` by 5 x 5 too or
// by 3 x 3 with stride 2 for both dims: strips of columns as wide as a vector, from row to row.
// `forward` also takes planes that are some rows of a larger one: with stride 1, pad_h and the rows
// after the plane that windows reach are at most half a window; with stride 2, pad_h is 0 or 1.
struct DepthwiseStripKernels {
  std::int64_t lanes;  // 0 where loads take no masks; there is nothing else then
  StripLimits window_3x3, window_5x5, strided;
  // Of `planes` channels of an image; w: planes x taps, bias: planes values or null. flip: taps in
  // reverse order.
  void (*forward)(const ConvPlane& plane, std::int64_t planes, bool flip, const float* x,
                  const float* w, const float* bias, Activation activation, float* y);
  // dw of a channel, 3 x 3, stride 1. `next`: from an image to the next.
  void (*backward_weights)(const ConvPlane& plane, std::int64_t images, const PlaneStrides& next,
                           const float* x, const float* dy, float* dw);
  // For `forward` with stride 2 of rows whose even columns come first, then the odd ones: vectors
  // of both are read where they lie. Null where that takes no less time.
  void (*forward_split)(const ConvPlane& plane, std::int64_t planes, const float* x, const float* w,
                        const float* bias, Activation activation, float* y) = nullptr;
  // Such rows of elements of 2 or 4 bytes; `to` and `from` do not overlap.
  void (*split_rows)(void* to, const void* from, std::int64_t rows, std::int64_t width,
                     std::int64_t element) = nullptr;
};

// How a plane is normalized: `floor` takes the place of what lies below row.low, which is the first
// value that counts.
template <class T>
struct Normalization {
  NormRow<T> row;
  T floor;
};

// Depthwise convolutions of normalized planes, z = min(max(v, floor), high), by 3 x 3 taps with
// stride 1 or 2 for both dims and one row and column of padding at the beginning. The elements of x
// are X: T, or bfloat16 by their bits.
template <class T, class X>
struct DepthwiseNormKernels {
  std::int64_t (*scratch_bytes)(const ConvPlane& plane);
  // dx = what dy says of z, 0 where v is not in [low, high]. sums[k] += sum of dy and tap k of z,
  // sums[9] += sum dx, sums[10] += sum dx (x - mean).
  void (*backward)(const ConvPlane& plane, const PlaneStrides& next, const Normalization<T>& by,
                   const X* x, const T* dy, const T* w, T* dx, double* sums, void* scratch);
};

// Rows of tiles of an image. Component i of tile t and channel c is at i component + t ld + c;
// channels are filled up to whole vectors. The last row and the last column may be places apart.
struct TileRows {
  std::int64_t first, rows;                // of tiles
  std::int64_t across;                     // tiles of a row
  std::int64_t whole_rows, whole_columns;  // before the last ones, or all
  // The tile t that comes first: [in the last row][in the last column], 0 being before these.
  std::int64_t start[2][2];
  std::int64_t channels;
  std::int64_t height, width;  // of the planes
  std::int64_t ld, component;
  // winograd_strided_back: whether the first result of a tile is odd, padding counted.
  bool odd_h, odd_w;
};

// The weights of a 3 x 3 window: element (outer, inner, tap) is at w[outer outer_stride + inner
// inner_stride + tap].
struct TileWeights {
  std::int64_t inner, outer;
  std::int64_t inner_stride, outer_stride;
  std::int64_t ld, component;
};

// The transforms of a form.
template <class T>
struct WinogradTransforms {
  // Scratch bytes of the functions that take rows; `width` is that of the source. Padding is at
  // most 2.
  std::int64_t (*scratch_bytes)(const TileRows& rows);
  // Panels [first, last) of `panel` outer channels, each inner x panel, the last filled with zeros:
  // b of a packed product. Component i starts at i component. flip: taps in reverse order.
  void (*weights)(const TileWeights& weights, std::int64_t first, std::int64_t last,
                  std::int64_t panel, bool flip, const T* w, T* u);
  // dw from products whose component i has element (outer, inner) at i component + outer ld +
  // inner. The weights of inner channels lie one after the other. Like `output_gradient` not of
  // strided_back, whose gradient by the weights is that of `strided`.
  void (*backward_weights)(const TileWeights& weights, const T* u, T* dw);
  // x is padded by pad_h, pad_w zeros at its beginning.
  void (*input)(const TileRows& rows, std::int64_t pad_h, std::int64_t pad_w, const T* x, T* v,
                void* scratch);
  void (*output)(const TileRows& rows, const T* v, const T* bias, Activation activation, T* y,
                 void* scratch);
  void (*output_gradient)(const TileRows& rows, const T* dy, T* v, void* scratch);
  // `input` and `output_gradient` with pairs of tiles, rounded to bfloat16, in the place of a T: 2q
  // and 2q + 1 of the rows at q ld, an odd number with zeros after it. Null where components are
  // not rounded.
  void (*input_pairs)(const TileRows& rows, std::int64_t pad_h, std::int64_t pad_w, const T* x,
                      T* v, void* scratch) = nullptr;
  void (*output_gradient_pairs)(const TileRows& rows, const T* dy, T* v, void* scratch) = nullptr;
};

template <class T>
struct WinogradKernels {
  // Inner channels that an element of v and of u stands for: 1, or 2 where components are rounded
  // to bfloat16 and a pair of channels lies in the place of a T. `ld` and `component` count
  // elements; panels have one row for so many channels, the last filled with zeros.
  std::int64_t channels;
  WinogradTransforms<T> unit, strided, strided_back;  // of the forms of winograd_form.h
};

// Windows of stride 1 over planes of few channels: every product reads the planes themselves,
// copied with zeros around them. `ConvPlane` has the dims of one plane.
template <class T>
struct DirectKernels {
  std::int64_t rows;       // output channels of a panel of weights
  std::int64_t max_depth;  // of channels x taps
  // Elements of the copy of an image; copy makes it.
  std::int64_t (*copy_elements)(const ConvPlane& plane, std::int64_t channels);
  void (*copy)(const ConvPlane& plane, std::int64_t channels, const T* x, T* copy);
  // Panels of `rows` outer channels, each inner x taps x rows: element (outer, inner, tap) is at
  // w[outer outer_stride + inner inner_stride + tap]. flip: taps in reverse order.
  void (*weights)(const TileWeights& weights, std::int64_t taps, bool flip, const T* w, T* panels);
  void (*forward)(const ConvPlane& plane, std::int64_t inner, std::int64_t outer, const T* copy,
                  const T* panels, const T* bias, Activation activation, T* y);
  // The rows of dy, filled up to whole vectors.
  std::int64_t (*dy_elements)(const ConvPlane& plane, std::int64_t channels);
  void (*copy_dy)(const ConvPlane& plane, std::int64_t channels, const T* dy, T* dy_copy);
  // A vector of sums for each weight: += over all images.
  std::int64_t lanes;
  void (*weight_sums)(const ConvPlane& plane, std::int64_t inner, std::int64_t outer,
                      std::int64_t images, const T* copies, const T* dy_copy, T* sums);
  // dw[i] = all of the sums of weight i of all shards, these lying `shard` elements apart.
  void (*backward_weights)(std::int64_t n, std::int64_t shards, std::int64_t shard, const T* sums,
                           T* dw);
};

// Rows [first, first + rows) of planes of height x width, `left` zeros before each and zeros after
// up to `pitch`; rows outside of the plane are zeros. `left` may be negative.
struct PlaneCopy {
  std::int64_t height, width;
  std::int64_t first, rows;
  std::int64_t left, pitch;
};

// Positions of a window over such copies: rows x width of them, `step` (1 or 2) elements apart in a
// row and row_step from one row to the next. `depth` offsets say where taps lie from a position on.
struct StridedRows {
  std::int64_t rows, width;
  std::int64_t step, row_step;
  std::int64_t depth;
  std::int64_t lanes;  // outer channels that count
};

// Products that read the copies of planes in place. Outer channels come in panels, as those of
// packed products: element (k, j) of a panel is at k panel + j.
template <class T>
struct StridedConvKernels {
  std::int64_t panel;
  std::int64_t tap_panels;  // that `taps` takes at most
  void (*copy)(const PlaneCopy& copy, std::int64_t channels, const T* x, T* to);
  // sums[position][j] += sum over k of x[position + offsets[k]] weights[k][j], one panel; `first`:
  // = instead of +=.
  void (*positions)(const StridedRows& rows, const T* x, const std::int64_t* offsets,
                    const T* weights, bool first, T* sums);
  // sums[k][j] += sum over positions of x[position + offsets[k]] dy[position][j]; panels of
  // dy and of sums lie dy_panel and sums_panel apart.
  void (*taps)(const StridedRows& rows, const T* x, const std::int64_t* offsets, const T* dy,
               std::int64_t dy_panel, bool first, T* sums, std::int64_t sums_panel);
  // y[j ld + i] = activation(sums[i][j] + bias[j]), i < n, j < channels; bias may be null.
  void (*store_channels)(const T* sums, std::int64_t n, std::int64_t channels, const T* bias,
                         Activation activation, T* y, std::int64_t ld);
  // store_channels without activation, of n elements taken from two sums in turns.
  void (*store_interleaved)(const T* even, const T* odd, std::int64_t n, std::int64_t channels,
                            const T* bias, T* y, std::int64_t ld);
  // Channels of x that an element of a copy stands for, to `positions` too: 1, or 2 where a pair of
  // them, rounded to bfloat16, lies in the place of a T, with zeros after an odd number. `taps` has
  // no such copies.
  std::int64_t channels = 1;
  // In place: the weights of `channels` x taps, a panel each, become those of pairs of channels.
  // Null where channels are not paired.
  void (*pair_weights)(std::int64_t channels, std::int64_t taps, T* w) = nullptr;
};

// Groups of few channels, interleaved: a cell holds channels of one position of as many groups as
// fill the lanes of a vector, lane c G + g being channel c of group g of G. One load then spreads a
// channel of each group over the lanes of its output channels.

// Rows of planes and where the cells of their positions lie, in elements.
struct CellRows {
  std::int64_t rows, width;     // of the planes
  const std::int64_t* columns;  // of each column from the first cell of its row on
  std::int64_t row_step;
};

// A tap of the channels of a cell: where its cell lies from a position on, and the weights of the
// first of `steps` factors.
struct CellTap {
  std::int64_t x, w;
  std::int64_t steps;
};

// Positions whose cells follow each other in a row; distances in elements.
struct CellPositions {
  std::int64_t groups;  // of a cell: 1, 2 or 4
  std::int64_t rows, width;
  std::int64_t x_row, y_row;  // from a row to the next
  std::int64_t w_step;        // from the weights of a factor to those of the next
};

template <class T>
struct GroupedConvKernels {
  std::int64_t lanes;
  // Channels that a factor of `positions` stands for, and images that one of `taps` does: 1, or 2
  // where pairs rounded to bfloat16 lie in the place of a T. Such a pair of channels takes the
  // place of one of them in the order of the lanes.
  std::int64_t paired;
  std::int64_t cell;  // elements of a cell of `positions`; other cells have `lanes`
  // Lane j of a cell is x[planes[j] + position], 0 where planes[j] is negative.
  void (*interleave)(const CellRows& rows, const std::int64_t* planes, const T* x, T* cells);
  void (*interleave_factors)(const CellRows& rows, const std::int64_t* planes, const T* x,
                             T* cells);
  // Of `next` too, which may be null, where images are paired.
  void (*interleave_images)(const CellRows& rows, const std::int64_t* planes, const T* x,
                            const T* next, T* cells);
  // In place: `inner` x taps vectors of weights become those of pairs of inner channels. Null where
  // channels are not paired.
  void (*pair_weights)(std::int64_t inner, std::int64_t taps, T* w);
  // y[planes[j] + position] = activation(lane j + bias[j]); bias may be null.
  void (*deinterleave)(const CellRows& rows, const std::int64_t* planes, const T* cells,
                       const T* bias, Activation activation, T* y);
  // Cells of y = sums over the factors of all taps, for `vectors` vectors of output channels; those
  // of w and of y lie w_vector and y_vector apart.
  void (*positions)(const CellPositions& positions, const CellTap* taps, std::int64_t count,
                    const T* x, const T* w, std::int64_t vectors, std::int64_t w_vector, T* y,
                    std::int64_t y_vector);
  // sums of each factor of each tap += its products with the cells of dy, over `images` images
  // whose cells lie x_image and dy_image apart.
  void (*taps)(const CellPositions& positions, const CellTap* taps, std::int64_t count,
               std::int64_t images, const T* x, std::int64_t x_image, const T* dy,
               std::int64_t dy_image, T* sums);
};

// Convolutions of float with few positions: dot products of weights and of what lies under the
// window at each position, both contiguous.
struct FewPositionsKernels {
  std::int64_t max_positions;
  std::int64_t unit;  // rows are filled up with zeros to whole units
  // rows[p row + k] = columns[k ld + p], k < depth; row is `depth` in whole units.
  void (*transpose)(std::int64_t depth, std::int64_t positions, const float* columns,
                    std::int64_t ld, float* rows);
  // y[o ld + p] = activation(bias[o] + sum over k of w[o depth + k] rows[p row + k]), o < outer;
  // bias may be null.
  void (*forward)(std::int64_t depth, std::int64_t positions, std::int64_t outer, const float* w,
                  const float* rows, const float* bias, Activation activation, float* y,
                  std::int64_t ld);
};

namespace avx512_bf16 {
// Replaces what rounds in a table of avx512.
void round_components(WinogradKernels<float>& table) noexcept;
void pair_channels(StridedConvKernels<float>& table) noexcept;
}  // namespace avx512_bf16

}  // namespace ondine::math
