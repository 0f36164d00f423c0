#include "kernels/conv/algorithms/grouped.h"

namespace ondine::math {

using Index = std::int64_t;

CellLanes::CellLanes(Index groups_, Index channels_, Index lanes_, Index paired_)
    : groups(groups_),
      channels(channels_),
      lanes(lanes_),
      paired(paired_),
      vectors(divide_up(round_up(channels, paired) * groups, lanes)) {}

std::vector<Index> CellLanes::planes(Index count, Index group, Index channel) const {
  std::vector<Index> all(static_cast<std::size_t>(vectors * lanes), -1);
  for (Index g = 0; g < count; ++g) {
    for (Index c = 0; c < channels; ++c) {
      const Index lane = (c / paired * groups + g) * paired + c % paired;
      all[static_cast<std::size_t>(lane)] = g * group + c * channel;
    }
  }
  return all;
}

Index groups_of_block(const ConvShape& s, Index outer, Index lanes) {
  Index best = 1;
  for (Index groups = 2; groups <= std::min<Index>({4, lanes, s.groups}); groups *= 2) {
    const auto filled = [&](Index g) { return round_up(outer * g, lanes) / g; };
    if (filled(groups) < filled(best)) best = groups;
  }
  return best;
}

GroupBlocks::GroupBlocks(const ConvShape& s, Index outer, Index lanes)
    : groups(groups_of_block(s, outer, lanes)),
      count(divide_up(s.groups, groups)),
      last(s.groups - (count - 1) * groups) {}

BlockPlanes::BlockPlanes(const CellLanes& lanes, const GroupBlocks& blocks, Index group,
                         Index channel)
    : lanes_(lanes.lanes),
      last_block_(blocks.count - 1),
      full_(lanes.planes(blocks.groups, group, channel)),
      last_(lanes.planes(blocks.last, group, channel)) {}

CellCopy::CellCopy(const StridedAxis& down_, const StridedAxis& across_, const SpatialDims& in,
                   Index cell_)
    : down(down_),
      across(across_),
      cell(cell_),
      pitch(divide_up(across.span(across.positions(0)), across.step)),
      row((across.step * pitch + 1) * cell) {
  for (Index w = 0; w < in[2]; ++w) {
    const Index at = w - across.low;
    const bool is_read = at >= 0 && at < across.step * pitch;
    columns.push_back(is_read ? (at % across.step * pitch + at / across.step) * cell : row - cell);
  }
}

Index CellCopy::band(Index vectors) const {
  constexpr Index max_elements = Index{1} << 15;
  const Index rows = down.positions(0);
  Index max_rows = rows;
  while (max_rows > 1 && vectors * elements(max_rows) > max_elements) {
    max_rows = std::max<Index>(1, max_rows * 3 / 4);
  }
  return even_chunk(rows, max_rows);
}

CellCopy::Inside CellCopy::inside(Index first, Index rows, Index height) const {
  const Index start = first * down.step + down.low;
  const Index begin = std::clamp<Index>(-start, 0, down.span(rows));
  return {begin, std::clamp<Index>(height - start, begin, down.span(rows)), start + begin};
}

void CellCopy::clear_outside(const Inside& rows_inside, Index rows, float* copy) const {
  std::fill_n(copy, rows_inside.begin * row, 0.0F);
  std::fill(copy + rows_inside.end * row, copy + elements(rows), 0.0F);
}

std::vector<CellTap> CellCopy::taps(Index a, Index b, Index plane, Index vectors, Index steps,
                                    Index factors, Index lanes) const {
  std::vector<CellTap> all;
  const Index kernel = down.kernel * across.kernel;
  for (Index v = 0; v < vectors; ++v) {
    for (Index k = 0; k < kernel; ++k) {
      const Index h = down.offset(a, k / across.kernel);
      const Index w = across.offset(b, k % across.kernel);
      if (h < 0 || w < 0) continue;
      all.push_back({v * plane + h * row + (w % across.step * pitch + w / across.step) * cell,
                     (v * steps * kernel + k) * lanes, std::min(steps, factors - v * steps)});
    }
  }
  return all;
}

std::vector<Index> cells_in_turn(Index n, Index cell) {
  std::vector<Index> all;
  for (Index i = 0; i < n; ++i) all.push_back(i * cell);
  return all;
}

}  // namespace ondine::math
