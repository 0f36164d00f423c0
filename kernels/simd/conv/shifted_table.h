// Convolutions of stride 1 in tiles of bfloat16, whose products read planes from the position that
// a tap sees.
#pragma once

#include "kernels/simd/conv/conv_table.h"

namespace ondine::math {

// Planes of bfloat16 that lie as pairs: channels 2q and 2q + 1 of a position in the place of a
// float, with zeros around the plane and after the last channel.
struct PairedPlanes {
  std::int64_t channels, height, width;  // of the source
  std::int64_t top, left;                // zeros before a plane
  std::int64_t row;                      // positions of a padded row
  std::int64_t pairs;                    // of channels, those of zeros too
  std::int64_t plane;                    // positions from a pair of channels to the next
};
// Products of weights and planes, one for each tap, which moves the planes. Weights lie in panels
// of 16 outer channels: for each tap and each `deep` pairs of channels 16 rows of 16 pairs.
struct ShiftedProduct {
  std::int64_t taps;
  const std::int64_t* offsets;  // of each tap, in positions
  std::int64_t blocks, deep;    // of pairs of channels, and pairs of one, up to 16
  std::int64_t plane;
  std::int64_t panel;      // floats from 16 outer channels to the next
  std::int64_t positions;  // a multiple of 32
  std::int64_t ld;         // of the sums
};
// Where sums of positions in padded rows go.
struct ShiftedRows {
  std::int64_t channels, rows, width;
  std::int64_t ld, row;            // of the sums: from a channel and from a row to the next
  std::int64_t plane, result_row;  // of the result
};
// Planes of bfloat16 with their positions in pairs, as rows of dy (`row` even), zeros after each.
struct PairedPositions {
  std::int64_t channels, width;
  std::int64_t plane;       // of the source
  std::int64_t source_row;  // of the source
  std::int64_t row;         // positions of a padded row
  std::int64_t positions;   // of a band, a multiple of 32
  std::int64_t ld;          // floats from a channel to the next
};
// The sums of products of dy and moved planes. A block of 16 source channels lies twice, as pairs
// of positions that begin with an even and with an odd one: for each pair 16 channels. Sums have a
// row for each channel of dy and, for each tap and block, 16 columns.
struct ShiftedSums {
  std::int64_t taps;
  const std::int64_t* offsets;
  std::int64_t blocks;
  std::int64_t parity, block;  // floats from even to odd pairs, and from a block to the next
  std::int64_t dy_row;         // floats
  std::int64_t ld;             // of the sums
};
// Convolutions of stride 1 in tiles: source planes are rounded once, and no columns are gathered.
struct ShiftedConvKernels {
  // Padded rows [first, first + rows) of an image and zeros after them.
  void (*pair_channels)(const PairedPlanes& planes, std::int64_t first, std::int64_t rows,
                        const float* x, float* pairs);
  // Panels [first, last) of weights. flip: taps in reverse order.
  void (*weights)(const TileWeights& weights, std::int64_t taps, bool flip, std::int64_t blocks,
                  std::int64_t first, std::int64_t last, const float* w, float* panels);
  // Sums of one or two panels: 16 rows each.
  void (*positions)(const ShiftedProduct& product, std::int64_t panels, const float* weights,
                    const float* pairs, float* sums);
  // result = activation(sums + bias); the bias may be null.
  void (*store)(const ShiftedRows& rows, const float* sums, const float* bias,
                Activation activation, float* result);
  // Rows [0, rows) of dy.
  void (*pair_positions)(const PairedPositions& dy, std::int64_t rows, const float* from,
                         float* pairs);
  // Padded rows [first, first + rows) of 16 channels from `channel` on, `count` pairs of positions
  // of both parities. Scratch: 16 rows of 2 count + 64 elements of bfloat16.
  void (*transpose_positions)(const PairedPlanes& planes, std::int64_t channel, std::int64_t first,
                              std::int64_t rows, std::int64_t count, std::int64_t parity,
                              const float* x, float* pairs, void* scratch);
  // sums += those of one or two blocks of 16 channels of dy, of `positions`, a multiple of 32.
  void (*taps)(const ShiftedSums& shape, std::int64_t panels, std::int64_t positions,
               const float* dy, const float* pairs, float* sums);
};

}  // namespace ondine::math
