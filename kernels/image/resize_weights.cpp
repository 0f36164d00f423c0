#include "kernels/image/resize_weights.h"

#include <numeric>

#include "graph/contract/ops.h"
#include "kernels/common/expansion.h"
#include "kernels/common/integer_parameters.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

Val real(Val x) { return cast(x, DType::float64); }
Val at_most(Val x, Val limit) { return x.builder().node("LessOrEqual", {x, limit}); }

// 0, 1, ... before `end`, an int64 scalar, as float64.
Val counted(Val end) {
  Builder& b = end.builder();
  return real(b.node("Range", {b.int64(0), end, b.int64(1)}));
}

// Where the elements of y lie in x: [out], as `source` of resize_axis.cpp has it.
Val sources(const ResizeMode& mode, const ResizedAxis& axis) {
  const Val x = counted(axis.out);
  const Val in = real(axis.in);
  const Val out = real(axis.out);
  const Val scale = axis.scale;
  const auto centred = [&] { return (x + 0.5) / scale - 0.5; };
  const auto one = [&](Val size) { return scalar_like(size, 1); };
  switch (mode.coordinates) {
    case Coordinates::half_pixel:
      return centred();
    case Coordinates::half_pixel_symmetric:
      return in / 2 * (1 - out / (scale * in)) + (x + 0.5) / scale - 0.5;
    case Coordinates::pytorch_half_pixel:
      return where(greater(out, one(out)), centred(), scalar_like(x, 0));
    case Coordinates::align_corners: {
      const Val asked = scale * in;
      const Val near = less(unary("Abs", asked - out), scalar_like(out, 0.001));
      const Val size = where(near, out, asked);
      const Val zero = scalar_like(x, 0);
      return where(greater(x, zero), x * (in - 1) / (size - 1), zero);
    }
    case Coordinates::asymmetric:
      return x / scale;
    case Coordinates::tf_half_pixel_for_nn: {
      // An axis that keeps its size is copied. The other coordinates give that by themselves.
      const Val kept = logical_and(equal(axis.in, axis.out), equal(scale, one(scale)));
      return where(kept, x, (x + 0.5) / scale);
    }
    case Coordinates::tf_crop_and_resize: {
      const Val gaps = maximum(out - 1, one(out));
      const Val spread = axis.start * (in - 1) + x * (axis.end - axis.start) * (in - 1) / gaps;
      return where(greater(out, one(out)), spread, (axis.start + axis.end) * (in - 1) / 2);
    }
  }
  return x;
}

Val rounded(Rounding rounding, Val x) {
  switch (rounding) {
    case Rounding::prefer_floor:
      return unary("Ceil", x - 0.5);
    case Rounding::prefer_ceil:
      return unary("Floor", x + 0.5);
    case Rounding::floor:
      return unary("Floor", x);
    case Rounding::ceil:
      return unary("Ceil", x);
  }
  return x;
}

// Keys' kernel of distances that are not negative.
Val cubic(Val x, double a) {
  const Val zero = scalar_like(x, 0);
  const Val inner = ((a + 2) * x - (a + 3)) * x * x + 1;
  const Val outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return where(at_most(x, scalar_like(x, 1)), inner,
               where(less(x, scalar_like(x, 2)), outer, zero));
}

// The elements of x that make each one of y: [out, taps].
struct Taps {
  Val indices;  // float64; they may lie outside of x
  Val weights;
};

Taps taps_of(const ResizeMode& mode, const ResizedAxis& axis, Val at) {
  Builder& b = at.builder();
  const Val rows = unsqueeze(at, {1});
  if (mode.interpolation == Interpolation::nearest) {
    const Val nearest = rounded(mode.rounding, rows);
    return {nearest, full_like(nearest, 1)};
  }
  const bool linear = mode.interpolation == Interpolation::linear;
  const double reach = linear ? 1 : 2;
  Val width = b.scalar(reach, DType::float64);
  Val squeezed = b.scalar(1, DType::float64);
  if (mode.antialias) {
    squeezed = minimum(axis.scale, squeezed);
    width = unary("Ceil", width / squeezed);
  }
  const Val offsets = b.node("Range", {1 - width, width + 1, b.scalar(1, DType::float64)});
  const Val indices = unary("Floor", rows) + offsets;
  const Val distance = unary("Abs", (indices - rows) * squeezed);
  Val weights =
      linear ? maximum(1 - distance, scalar_like(distance, 0)) : cubic(distance, mode.cubic_a);
  if (mode.exclude_outside) {
    const Val zero = scalar_like(indices, 0);
    const Val inside = logical_and(at_most(zero, indices), at_most(indices, real(axis.in) - 1));
    weights = where(inside, weights, zero);
  }
  if (mode.antialias || mode.exclude_outside) weights = weights / reduce_sum(weights, {1}, true);
  return {indices, weights};
}

// Resizing that a node asks for: scales or sizes, and the region to crop.
class Request {
 public:
  explicit Request(ExpandContext& context)
      : crop_(read_resize_mode(context).coordinates == Coordinates::tf_crop_and_resize),
        policy_(context.attr_string("keep_aspect_ratio_policy", "stretch")),
        scales_(given(context.x(2))),
        sizes_(given(context.x(3))) {
    if (scales_ && sizes_) {
      fail(ErrorCode::unsupported,
           "the derivative of Resize needs to know whether scales or sizes are given");
    }
    if (crop_) roi_ = real(context.x(1));
  }

  // The ratio of axis k of `count`, whose sizes in x are `in`, float64.
  Val scale(std::int64_t k, Val in) const {
    if (scales_) return element(real(scales_), k);
    const Val ratios = real(sizes_) / in;
    if (policy_ == "stretch") return element(ratios, k);
    const std::string_view op = policy_ == "not_larger" ? "ReduceMin" : "ReduceMax";
    return ratios.builder().node(op, {ratios}, {{"keepdims", std::int64_t{0}}});
  }
  Val start(std::int64_t k) const { return crop_ ? element(roi_, k) : Val(); }
  Val end(std::int64_t k, std::size_t count) const {
    return crop_ ? element(roi_, k + static_cast<std::int64_t>(count)) : Val();
  }

  // Whether axis k certainly keeps its elements.
  bool keeps(std::size_t k, Dim in, Dim out) const {
    if (crop_) return false;
    if (sizes_) return policy_ == "stretch" && in.same(out);
    const Tensor& scales = scales_.builder().graph()[scales_.id()].constant;
    return scales.defined() && scales.values<float>()[k] == 1;
  }

 private:
  // An empty list counts as none.
  static Val given(Val list) {
    const bool empty = list && list.ranked() && list.rank() == 1 && list.dims()[0].same(Dim(0));
    return empty ? Val() : list;
  }
  static Val element(Val list, std::int64_t k) { return gather(list, list.builder().int64(k), 0); }

  bool crop_;
  std::string policy_;
  Val scales_, sizes_, roi_;
};

}  // namespace

std::vector<ResizedAxis> resized_axes(ExpandContext& context, const Dims& in, const Dims& out) {
  Builder& b = context.builder();
  std::vector<std::size_t> axes(in.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  if (context.has_attr("axes")) axes = normalize_axes(context.attr_ints("axes"), in.size());
  const Request request(context);
  const Val x_shape = context.x(4);
  const Val y_shape = shape_of(context.x(0));
  const std::vector<std::int64_t> numbers(axes.begin(), axes.end());
  const Val sizes = real(gather(x_shape, b.int64s(numbers), 0));
  std::vector<ResizedAxis> result;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (request.keeps(k, in[axes[k]], out[axes[k]])) continue;
    const auto number = static_cast<std::int64_t>(k);
    const Val axis = b.int64(numbers[k]);
    result.push_back({axes[k], gather(x_shape, axis, 0), gather(y_shape, axis, 0),
                      request.scale(number, sizes), request.start(number),
                      request.end(number, axes.size())});
  }
  return result;
}

Val resize_weights(const ResizeMode& mode, const ResizedAxis& axis) {
  const Val at = sources(mode, axis);
  const Val last = real(axis.in) - 1;
  const Val first = scalar_like(last, 0);
  Taps taps = taps_of(mode, axis, at);
  if (mode.coordinates == Coordinates::tf_crop_and_resize) {
    const Val inside = logical_and(at_most(first, at), at_most(at, last));
    taps.weights = where(unsqueeze(inside, {1}), taps.weights, first);
  }
  const Val indices = cast(minimum(maximum(taps.indices, first), last), DType::int64);
  const Val shape[] = {unsqueeze(axis.out, {0}), unsqueeze(axis.in, {0})};
  return at.builder().node("ScatterElements",
                           {zeros(concat(shape, 0), DType::float64), indices, taps.weights},
                           {{"axis", std::int64_t{1}}, {"reduction", std::string("add")}});
}

}  // namespace ondine::kernels
