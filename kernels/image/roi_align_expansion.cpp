#include <limits>

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

// Points of cells, [regions, cells, samples]. Regions may have fewer samples than the most.
struct Points {
  Val at;
  Val exists;  // [regions, 1, samples]
  Val valid;   // of those that exist: inside of x
  Val count;   // samples of a cell, [regions]
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
    most = cast(maximum(greatest, b.scalar(1, DType::float64)), DType::int64);
  }
  const Val count = unsqueeze(result.count, {1});
  const Val numbers = real(range(most));
  const Val inside_cell = (numbers + 0.5) / maximum(count, scalar_like(count, 1));
  const Val cells = unsqueeze(real(range(b.int64(axis.cells))), {1});
  const auto of_region = [](Val x) { return unsqueeze(x, {1, 2}); };
  result.at = of_region(axis.start) + (cells + unsqueeze(inside_cell, {1})) * of_region(cell);
  const Val inside = logical_and(b.node("GreaterOrEqual", {result.at, scalar_like(zero, -1)}),
                                 b.node("LessOrEqual", {result.at, real(axis.length)}));
  result.exists = unsqueeze(less(numbers, count), {1});
  result.valid = logical_and(inside, result.exists);
  return result;
}

// The two elements of x beside each point, and their weights: [regions, cells, samples].
struct Corners {
  Val indices[2], weights[2];
  Val exists, count;  // as of the points
};

Corners corners_of(const RegionAxis& axis, std::int64_t sampling) {
  Builder& b = axis.start.builder();
  const Points points = points_of(axis, sampling);
  const Val zero = b.scalar(0, DType::float64);
  const Val last = axis.length - b.int64(1);
  const Val at = minimum(maximum(where(points.valid, points.at, zero), zero), real(last));
  const Val low = unary("Floor", at);
  const Val part = at - low;
  const Val first = cast(low, DType::int64);
  return {{first, minimum(first + b.int64(1), last)},
          {where(points.valid, 1 - part, zero), where(points.valid, part, zero)},
          points.exists,
          points.count};
}

// How the cells of regions follow from the elements of x, but for the division by the samples:
// [regions, cells, length].
Val weights_of(const Corners& corners, const RegionAxis& axis) {
  Builder& b = axis.start.builder();
  const Val shape[] = {shape_of(axis.start), b.int64s({axis.cells}), unsqueeze(axis.length, {0})};
  return b.node("ScatterElements",
                {zeros(concat(shape, 0), DType::float64), concat(corners.indices, 2),
                 concat(corners.weights, 2)},
                {{"axis", std::int64_t{2}}, {"reduction", std::string("add")}});
}

// The operands of RoiAlignGrad.
class AlignGradient {
 public:
  explicit AlignGradient(ExpandContext& context)
      : mode_(context),
        b_(context.builder()),
        dy_(context.x(0)),
        x_(context.x(1)),
        rois_(real(context.x(2))),
        images_(context.x(3)),
        shape_(shape_of(x_)) {}

  bool maximum_mode() const { return mode_.maximum; }

  // Samples are interpolated row by row and column by column.
  Val mean() const {
    const RegionAxis across = along(0, mode_.columns);
    const RegionAxis down = along(1, mode_.rows);
    const Corners columns = corners_of(across, mode_.sampling);
    const Corners rows = corners_of(down, mode_.sampling);
    const Val samples = maximum(rows.count * columns.count, b_.scalar(1, DType::float64));
    const DType dtype = dy_.dtype();
    const Val means = dy_ / unsqueeze(cast(samples, dtype), {1, 2, 3});
    // [channels, regions, rows of cells, columns of x]
    const Val wide =
        matmul(transpose(means, {1, 0, 2, 3}), cast(weights_of(columns, across), dtype));
    const Val lines = dim_of(dy_, 0) * b_.int64(mode_.rows);
    const Val stacked[] = {size(1), lines, size(3)};
    // Each image sums up its regions: [images, regions, rows of cells, rows of x].
    const Val images = unsqueeze(range(squeeze(size(0), {0})), {1});
    const Val belongs = real(equal(images, images_));
    const Val chosen = unsqueeze(belongs, {2, 3}) * weights_of(rows, down);
    const Val placed[] = {size(0), lines, size(2)};
    const Val tall = transpose(reshape(cast(chosen, dtype), concat(placed, 0)), {0, 2, 1});
    return matmul(unsqueeze(tall, {1}), reshape(wide, concat(stacked, 0)));
  }

  // The corner of the greatest product takes all of dy. Corners are those of all samples of a cell,
  // in the order of the kernel: [regions, channels or 1, cells, corners].
  Val maximum_corner() const {
    const Corners columns = corners_of(along(0, mode_.columns), mode_.sampling);
    const Corners rows = corners_of(along(1, mode_.rows), mode_.sampling);
    // Axes: regions, rows, columns, samples down and across, corners down and across.
    const auto down = [](const Val(&two)[2]) { return unsqueeze(both(two), {2, 4, 6}); };
    const auto across = [](const Val(&two)[2]) { return unsqueeze(both(two), {1, 3, 5}); };
    const Val pixels = down(rows.indices) * size(3) + across(columns.indices);
    const Val every = shape_of(pixels);
    const Val corners = b_.node("ReduceProd", {slice(every, 3, 7, 0)});
    const Val cells = b_.int64s({mode_.rows * mode_.columns});
    const Val regions = dim_of(dy_, 0);
    const Val one = b_.int64s({1});
    const auto listed = [&](Val v) {
      const Val parts[] = {regions, one, cells, corners};
      return reshape(expand(v, every), concat(parts, 0));
    };
    const Val indices = listed(pixels);
    const Val weights = listed(down(rows.weights) * across(columns.weights));
    const Val exists = listed(
        logical_and(unsqueeze(rows.exists, {2, 4, 5, 6}), unsqueeze(columns.exists, {2, 3, 5, 6})));
    const Val whole[] = {regions, size(1), cells, corners};
    const auto of_channels = [&](Val v) { return expand(v, concat(whole, 0)); };

    const Val all_indices = of_channels(indices);
    const Val line[] = {regions, size(1), cells * corners};
    const Val plane[] = {size(0), size(1), size(2) * size(3)};
    const Val planes = gather(reshape(real(x_), concat(plane, 0)), images_, 0);
    const Val values = elements(planes, reshape(all_indices, concat(line, 0)), 2);
    const Val parts = reshape(values, concat(whole, 0)) * weights;
    const Val none = b_.scalar(-std::numeric_limits<double>::infinity(), DType::float64);
    const Val best = b_.node("ArgMax", {where(exists, parts, none)}, {{"axis", std::int64_t{3}}});
    const auto chosen = [&](Val v) { return squeeze(elements(v, best, 3), {3}); };
    const Val each[] = {regions, size(1), cells};
    const Val shares =
        reshape(dy_, concat(each, 0)) * cast(chosen(of_channels(weights)), dy_.dtype());
    const Val region_plane[] = {regions, size(1), size(2) * size(3)};
    const Val by_region =
        b_.node("ScatterElements",
                {zeros(concat(region_plane, 0), dy_.dtype()), chosen(all_indices), shares},
                {{"axis", std::int64_t{2}}, {"reduction", std::string("add")}});
    const Val sums = b_.node(
        "ScatterND", {zeros(concat(plane, 0), dy_.dtype()), unsqueeze(images_, {-1}), by_region},
        {{"reduction", std::string("add")}});
    return reshape(sums, shape_);
  }

 private:
  static Val both(const Val (&two)[2]) {
    const Val parts[] = {unsqueeze(two[0], {3}), unsqueeze(two[1], {3})};
    return concat(parts, 3);
  }
  static Val elements(Val x, Val indices, std::int64_t axis) {
    return x.builder().node("GatherElements", {x, indices}, {{"axis", axis}});
  }

  Val size(std::int64_t axis) const { return slice(shape_, axis, axis + 1, 0); }
  Val edge(std::int64_t i) const {
    return squeeze(slice(rois_, i, i + 1, 1), {1}) * mode_.scale - (mode_.half_pixel ? 0.5 : 0);
  }
  // Columns for 0, rows for 1.
  RegionAxis along(std::int64_t i, std::int64_t cells) const {
    const Val start = edge(i);
    Val length = edge(i + 2) - start;
    if (!mode_.half_pixel) length = maximum(length, scalar_like(length, 1));
    return {start, length, cells, squeeze(size(3 - i), {0})};
  }

  AlignMode mode_;
  Builder& b_;
  Val dy_, x_, rois_, images_, shape_;
};

}  // namespace

std::vector<Val> expand_align_grad(ExpandContext& context) {
  const AlignGradient gradient(context);
  return {gradient.maximum_mode() ? gradient.maximum_corner() : gradient.mean()};
}

}  // namespace ondine::kernels
