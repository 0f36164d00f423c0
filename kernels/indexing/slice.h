// The arithmetic of Slice, shared with its derivative.
#pragma once

#include <span>
#include <vector>

#include "kernels/common/integer_parameters.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels {

// Elements start, start + step, ... of one axis, `count` of them, all inside.
struct AxisSlice {
  std::int64_t start;
  std::int64_t step;
  std::int64_t count;
};

// Start and end clamped to an axis of this size as the standard says. Error(mismatch) for step 0.
AxisSlice clamp_slice(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step);

// The elements of starts, ends, axes and steps. The last two are empty when not given: then they
// are 0, 1, ... and 1, 1, ...
struct SliceParameters {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> steps;

  // In the order above.
  explicit SliceParameters(std::span<const std::vector<std::int64_t>> parameters);
  // The axis each start is for. Error(mismatch) when the numbers of elements differ.
  std::vector<std::size_t> normalized_axes(std::size_t rank) const;
  std::int64_t step(std::size_t i) const { return steps.empty() ? 1 : steps[i]; }
};

// The copy between a slice of a tensor of shape `whole` and a dense tensor of shape `part`.
struct SliceCopy {
  Shape part;
  std::int64_t offset = 0;
  std::vector<StridedCopy::Axis> axes;  // from the whole to the part

  SliceCopy(const Shape& whole, const SliceParameters& parameters);
};

}  // namespace ondine::kernels
