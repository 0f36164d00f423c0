#include "graph/contract/ops.h"
#include "kernels/common/expansion.h"
#include "kernels/image/roi_align.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// Values of regions are float64 [regions], as the kernel computes them.
Val real(Val x) { return cast(x, DType::float64); }

Val range(Val end) {
  Builder& b = end.builder();
  return b.node("Range", {b.int64(0), end, b.int64(1)});
}

// Regions along rows or columns of x.
struct RegionAxis {
  Val start, size;     // in elements of x
  std::int64_t cells;  // of each region
  Val length;          // of x, int64
};

// How the cells of regions follow from the elements of x, but for the division by the samples.
struct AxisSamples {
  Val weights;  // [regions, cells, length]
  Val count;    // samples of a cell, [regions]
};

// Points [regions, cells, samples], and which of them are samples inside of x.
struct Points {
  Val at, valid;
  Val count;  // as above
};

Points points_of(const RegionAxis& axis, std::int64_t sampling) {
  Builder& b = axis.start.builder();
  const Val cell = axis.size / static_cast<double>(axis.cells);
  const Val zero = scalar_like(cell, 0);
  Points result;
  Val most;  // samples of all regions
  if (sampling > 0) {
    result.count = full_like(cell, static_cast<double>(sampling));
    most = b.int64(sampling);
  } else {
    result.count = maximum(unary("Ceil", cell), zero);
    const Val counts[] = {unsqueeze(zero, {0}), result.count};
    const Val greatest = b.node("ReduceMax", {concat(counts, 0)}, {{"keepdims", std::int64_t{0}}});
    most = cast(greatest, DType::int64);
  }
  const Val count = unsqueeze(result.count, {1});
  const Val numbers = real(range(most));
  const Val inside_cell = (numbers + 0.5) / maximum(count, scalar_like(count, 1));
  const Val cells = unsqueeze(real(range(b.int64(axis.cells))), {1});
  const auto of_region = [](Val x) { return unsqueeze(x, {1, 2}); };
  result.at = of_region(axis.start) + (cells + unsqueeze(inside_cell, {1})) * of_region(cell);
  const Val inside = logical_and(b.node("GreaterOrEqual", {result.at, scalar_like(zero, -1)}),
                                 b.node("LessOrEqual", {result.at, real(axis.length)}));
  result.valid = logical_and(inside, unsqueeze(less(numbers, count), {1}));
  return result;
}

AxisSamples samples_of(const RegionAxis& axis, std::int64_t sampling) {
  Builder& b = axis.start.builder();
  const Points points = points_of(axis, sampling);
  const Val zero = b.scalar(0, DType::float64);
  const Val last = axis.length - b.int64(1);
  const Val at = minimum(maximum(where(points.valid, points.at, zero), zero), real(last));
  const Val low = unary("Floor", at);
  const Val part = at - low;
  const Val first = cast(low, DType::int64);
  const Val indices[] = {first, minimum(first + b.int64(1), last)};
  const Val weights[] = {where(points.valid, 1 - part, zero), where(points.valid, part, zero)};
  const Val shape[] = {shape_of(axis.start), b.int64s({axis.cells}), unsqueeze(axis.length, {0})};
  const Val matrix =
      b.node("ScatterElements",
             {zeros(concat(shape, 0), DType::float64), concat(indices, 2), concat(weights, 2)},
             {{"axis", std::int64_t{2}}, {"reduction", std::string("add")}});
  return {matrix, points.count};
}

}  // namespace

std::vector<Val> expand_align_grad(ExpandContext& context) {
  const AlignMode mode(context);
  if (mode.maximum) {
    fail(ErrorCode::unsupported, "the derivative of RoiAlign in mode max has no standard form");
  }
  Builder& b = context.builder();
  const Val dy = context.x(0);
  const Val shape = shape_of(context.x(1));
  const auto size = [&](std::int64_t axis) { return slice(shape, axis, axis + 1, 0); };
  const Val rois = real(context.x(2));
  const auto edge = [&](std::int64_t i) {
    return squeeze(slice(rois, i, i + 1, 1), {1}) * mode.scale - (mode.half_pixel ? 0.5 : 0);
  };
  const auto along = [&](std::int64_t i, std::int64_t cells) {
    const Val start = edge(i);
    Val length = edge(i + 2) - start;
    if (!mode.half_pixel) length = maximum(length, scalar_like(length, 1));
    return samples_of({start, length, cells, squeeze(size(3 - i), {0})}, mode.sampling);
  };
  const AxisSamples columns = along(0, mode.columns);
  const AxisSamples rows = along(1, mode.rows);
  const Val samples = maximum(rows.count * columns.count, b.scalar(1, DType::float64));

  const DType dtype = dy.dtype();
  const Val means = dy / unsqueeze(cast(samples, dtype), {1, 2, 3});
  // [channels, regions, rows of cells, columns of x]
  const Val wide = matmul(transpose(means, {1, 0, 2, 3}), cast(columns.weights, dtype));
  const Val lines = graph::dim_of(dy, 0) * b.int64(mode.rows);
  const Val stacked[] = {size(1), lines, size(3)};
  // Each image sums up its regions: [images, regions, rows of cells, rows of x].
  const Val images = unsqueeze(range(squeeze(size(0), {0})), {1});
  const Val belongs = real(equal(images, context.x(3)));
  const Val chosen = unsqueeze(belongs, {2, 3}) * rows.weights;
  const Val placed[] = {size(0), lines, size(2)};
  const Val tall = transpose(reshape(cast(chosen, dtype), concat(placed, 0)), {0, 2, 1});
  return {matmul(unsqueeze(tall, {1}), reshape(wide, concat(stacked, 0)))};
}

}  // namespace ondine::kernels
