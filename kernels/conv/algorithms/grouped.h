// Convolutions of groups of few channels, interleaved in cells (kernels/simd/conv/conv_table.h).
#pragma once

#include <vector>

#include "kernels/conv/algorithms/strided.h"

namespace ondine::math {

// The channels of a block of groups in the lanes of vectors.
struct CellLanes {
  // `paired`: channels that lie side by side for each group.
  CellLanes(std::int64_t groups, std::int64_t channels, std::int64_t lanes, std::int64_t paired);

  // The offsets of planes that lie `group` and `channel` elements apart, of `count` groups; -1
  // where a lane has no channel.
  std::vector<std::int64_t> planes(std::int64_t count, std::int64_t group,
                                   std::int64_t channel) const;

  std::int64_t groups, channels, lanes, paired;
  std::int64_t vectors;
};

// Groups of a block, so that few lanes of the result are idle.
std::int64_t groups_of_block(const ConvShape& s, std::int64_t outer, std::int64_t lanes);

// The blocks of all groups. The last may have fewer.
struct GroupBlocks {
  GroupBlocks(const ConvShape& s, std::int64_t outer, std::int64_t lanes);

  std::int64_t groups;  // of a block
  std::int64_t count;
  std::int64_t last;  // groups of the last block
};

// The offsets of CellLanes::planes for each block, from its first group on.
class BlockPlanes {
 public:
  BlockPlanes(const CellLanes& lanes, const GroupBlocks& blocks, std::int64_t group,
              std::int64_t channel);

  // Plane offsets of the lanes of a vector.
  const std::int64_t* of(std::int64_t block, std::int64_t vector) const {
    return (block == last_block_ ? last_ : full_).data() + vector * lanes_;
  }

 private:
  std::int64_t lanes_;
  std::int64_t last_block_;
  std::vector<std::int64_t> full_, last_;
};

// The copy of bands of rows as cells, columns by their remainder modulo the step, and how the taps
// of one phase of the result read it.
struct CellCopy {
  CellCopy(const StridedAxis& down, const StridedAxis& across, const SpatialDims& in,
           std::int64_t cell);

  std::int64_t elements(std::int64_t rows) const { return down.span(rows) * row; }  // of a vector
  // Rows of positions of a band, so that the copy for `vectors` vectors stays in a cache.
  std::int64_t band(std::int64_t vectors) const;
  // Rows [begin, end) of the copy that lie in the plane, if it holds `rows` rows of positions from
  // `first` on. `row`: the row of the plane that `begin` holds. The other rows are set to 0.
  struct Inside {
    std::int64_t begin, end, row;
  };
  Inside inside(std::int64_t first, std::int64_t rows, std::int64_t height) const;
  void clear_outside(const Inside& rows_inside, std::int64_t rows, float* copy) const;
  // The taps of phase (a, b): `vectors` of the copy `plane` elements apart, each with `steps`
  // factors of `factors`, whose weights are vectors of `lanes` elements by factor and tap.
  std::vector<CellTap> taps(std::int64_t a, std::int64_t b, std::int64_t plane,
                            std::int64_t vectors, std::int64_t steps, std::int64_t factors,
                            std::int64_t lanes) const;

  StridedAxis down, across;
  std::int64_t cell;
  std::int64_t pitch;                 // cells of a remainder
  std::int64_t row;                   // elements; the last cell takes what no tap reads
  std::vector<std::int64_t> columns;  // of the plane
};

// The offsets of n cells one after the other.
std::vector<std::int64_t> cells_in_turn(std::int64_t n, std::int64_t cell);

// backward_weights.
MadeConv<float> make_grouped_weights(const ConvDesc& desc, const SimdTables& kernels);

}  // namespace ondine::math
