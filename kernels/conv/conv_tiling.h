// The tiles of a Winograd convolution.
#pragma once

#include "kernels/common/scratch_pool.h"
#include "kernels/conv/conv_direction.h"

namespace ondine::math {

// Rows of tiles, those of all images one after another, in blocks.
struct Tiling {
  static constexpr std::int64_t most_tiles = 64;  // of a task
  Tiling(std::int64_t batch, const Extents& out)
      : tile(2),
        components((tile + 2) * (tile + 2)),
        down(divide_up(out[1], tile)),
        across(divide_up(out[2], tile)),
        rows(batch * down) {
    const std::int64_t tiles = std::clamp<std::int64_t>(rows * across / 4, 16, most_tiles);
    block = even_piece(rows, std::max<std::int64_t>(1, tiles / across));
    blocks = divide_up(rows, block);
  }

  // body(image, rows of tiles of that image, tiles before them in the block)
  template <class Body>
  void for_runs(std::int64_t which, Body&& body) const {
    const std::int64_t end = std::min(rows, (which + 1) * block);
    std::int64_t before = 0;
    for (std::int64_t row = which * block; row < end;) {
      TileRows run{};
      run.tile = tile;
      run.first = row % down;
      run.rows = std::min(end - row, down - run.first);
      run.across = across;
      body(row / down, run, before);
      before += run.rows * across;
      row += run.rows;
    }
  }
  std::int64_t tiles_in(std::int64_t which) const {
    return (std::min(rows, (which + 1) * block) - which * block) * across;
  }
  TileRows largest_run() const {
    TileRows run{};
    run.tile = tile;
    run.rows = std::min(block, down);
    run.across = across;
    return run;
  }

  std::int64_t tile, components;
  std::int64_t down, across;
  std::int64_t rows;   // of tiles, of all images
  std::int64_t block;  // rows of a task
  std::int64_t blocks;
};

inline void set_planes(TileRows& run, const Extents& plane, std::int64_t channels, std::int64_t ld,
                       std::int64_t component) {
  run.height = plane[1];
  run.width = plane[2];
  run.channels = channels;
  run.ld = ld;
  run.component = component;
}

}  // namespace ondine::math
