// crop_and_resize.cpp — com.microsoft CropAndResize: for each region [y1, x1, y2, x2], in parts of
// the image's last row and column, a crop of the image that batch_indices names, sampled at
// crop_size points from corner to corner (in the middle where that is 1). Written as products of
// the image with matrices of sampling weights: bilinear ones max(0, 1 - |row - sample|). Points
// outside of the image give extrapolation_value.
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { x_in, regions_in, batch_in, size_in };

std::string mode(const NodeView& node) {
  std::string found = node.attr_string("mode", "bilinear");
  if (found != "bilinear" && found != "nearest") {
    fail(ErrorCode::unsupported, "mode is ", quoted(found),
         ", supported are \"bilinear\" and \"nearest\"");
  }
  return found;
}

void infer(InferContext& context) {
  check_call(context,
             {.required = 0b1111, .inputs = 4, .attributes = {"extrapolation_value", "mode"}});
  require_floats(context, {x_in, regions_in});
  mode(context);
  const Dims x = dims_of_rank(context, x_in, 4, "X");
  const Dims regions = dims_of_rank(context, regions_in, 2, "rois");
  unify(regions[1], 4, "columns of rois");
  const Dim count =
      unify(regions[0], dims_of_rank(context, batch_in, 1, "batch_indices")[0], "regions");
  unify(dims_of_rank(context, size_in, 1, "crop_size")[0], 2, "elements of crop_size");
  const auto size = context.known_ints(size_in);
  if (size && ((*size)[0] < 1 || (*size)[1] < 1)) context.reject("crop_size must be positive");
  context.set_output(
      0, context.dtype(x_in),
      Dims{count, x[1], size ? Dim((*size)[0]) : Dim(), size ? Dim((*size)[1]) : Dim()});
}

class Sampling {
 public:
  // Along axis 2 or 3 of x, rows or columns.
  Sampling(Val x, Val regions, Val crop_size, std::int64_t axis) : b_(x.builder()) {
    const DType dtype = x.dtype();
    const Val size = graph::squeeze(graph::dim_of(x, axis), {0});
    const Val count = graph::squeeze(
        graph::cast(graph::slice(crop_size, axis - 2, axis - 1, 0), DType::int64), {0});
    const auto column = [&](std::int64_t i) { return graph::slice(regions, i, i + 1, 1); };
    const Val begin = column(axis - 2);
    const Val end = column(axis);
    const Val last = graph::cast(size, dtype) - 1.0;
    const Val gaps = graph::cast(graph::maximum(count - b_.int64(1), b_.int64(1)), dtype);
    const Val step = (end - begin) * last / gaps;
    // One point lies in the middle.
    points_ = graph::where(graph::equal(count, b_.int64(1)), (begin + end) * 0.5 * last,
                           begin * last + graph::cast(range(count), dtype) * step);
    const Val zero = graph::scalar_like(x, 0);
    outside_ = b_.node("Or", {graph::less(points_, zero), graph::greater(points_, last)});
    places_ = graph::cast(range(size), dtype);
  }

  // [regions, points, size]
  Val weights(bool nearest) const {
    // Halves are rounded up.
    const Val points = nearest ? unary("Floor", points_ + 0.5) : points_;
    const Val distance = unary("Abs", graph::unsqueeze(points, {2}) - places_);
    return unary("Relu", 1.0 - distance);
  }
  Val outside() const { return outside_; }  // [regions, points]

 private:
  Val range(Val length) const { return b_.node("Range", {b_.int64(0), length, b_.int64(1)}); }

  Builder& b_;
  Val points_, outside_, places_;
};

std::vector<Val> expand(ExpandContext& context) {
  const Val x = context.x(x_in);
  const Val batch = context.x(batch_in);
  const Val boxes = with_dim(context.x(regions_in), 1, 4, "columns of rois");
  const Val regions = with_dims_of(boxes, {0}, batch, {0}, "regions");
  const Val crop_size = with_dim(context.x(size_in), 0, 2, "elements of crop_size");
  const Sampling rows(x, regions, crop_size, 2);
  const Sampling columns(x, regions, crop_size, 3);
  const bool nearest = mode(context) == "nearest";
  const Val images = graph::gather(x, batch, 0);
  const Val tall = graph::matmul(graph::unsqueeze(rows.weights(nearest), {1}), images);
  const Val y =
      context.builder().node("MatMulT", {tall, graph::unsqueeze(columns.weights(nearest), {1})},
                             {{"transB", std::int64_t{1}}}, ondine_domain);
  const Val outside = context.builder().node("Or", {graph::unsqueeze(rows.outside(), {1, 3}),
                                                    graph::unsqueeze(columns.outside(), {1, 2})});
  return {graph::where(
      outside, graph::scalar_like(y, double{context.attr_float("extrapolation_value", 0)}), y)};
}

}  // namespace

extern const OpDef crop_and_resize{
    .name = "CropAndResize", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
