// The interpolation of Resize along one axis as a matrix that nodes compute, from sizes and scales
// that only a run may know.
#pragma once

#include "graph/contract/builder.h"
#include "kernels/image/resize_axis.h"

namespace ondine::kernels {

// Scalars: sizes are int64, the others float64.
struct ResizedAxis {
  std::size_t axis = 0;
  graph::Val in, out;
  graph::Val scale;       // the ratio asked for
  graph::Val start, end;  // of the region, for tf_crop_and_resize alone
};

// The axes of a ResizeGrad node that may change. `in` are the dims of x, `out` those of dy.
// Error(unsupported) where it is not known whether scales or sizes are given.
std::vector<ResizedAxis> resized_axes(graph::ExpandContext& context, const graph::Dims& in,
                                      const graph::Dims& out);

// [out, in], float64: how the elements of y follow from those of x. Rows of elements that are
// extrapolated hold zeros.
graph::Val resize_weights(const ResizeMode& mode, const ResizedAxis& axis);

}  // namespace ondine::kernels
