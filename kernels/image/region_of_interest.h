// Regions of images that are pooled to cells, for RoiAlign and MaxRoiPool.
#pragma once

#include "graph/contract/infer.h"

namespace ondine::kernels {

// y[n, c, cell] reads the plane (image[n], c) of x.
struct Regions {
  std::int64_t count, channels, height, width, rows, columns;
  std::int64_t images;

  std::int64_t plane() const noexcept { return height * width; }
  std::int64_t cells() const noexcept { return rows * columns; }
  std::int64_t image(double index) const {
    if (!(index >= 0 && index < static_cast<double>(images))) {
      fail(ErrorCode::mismatch, "a region is in image ", index, " of ", images);
    }
    return static_cast<std::int64_t>(index);
  }
};

// Output 0 has the type of input 1: (dy, x, ...) -> dx.
inline void infer_like_second(graph::InferContext& context) {
  context.set_output(0, context.input(1));
}

}  // namespace ondine::kernels
