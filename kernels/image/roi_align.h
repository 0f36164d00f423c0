// RoiAlign: its attributes, and its derivative in operators of the standard.
#pragma once

#include "graph/contract/builder.h"

namespace ondine::kernels {

struct AlignMode {
  explicit AlignMode(const graph::NodeView& node);

  std::int64_t rows, columns, sampling;
  double scale;
  bool half_pixel, maximum;
};

// RoiAlignGrad(dy, x, rois, batch_indices). Of the mean, dx is dy between two matrices of weights;
// in mode max, dy goes to the corner that was chosen.
std::vector<graph::Val> expand_align_grad(graph::ExpandContext& context);

}  // namespace ondine::kernels
