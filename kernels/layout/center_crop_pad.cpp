// center_crop_pad.cpp — y = x cut or padded with zeros to the given dims around its centre, an odd
// element being cut or added at the end;  dx = the same of dy with x's dims.
#include <algorithm>

#include "kernels/common/copy_kernel.h"

namespace ondine::kernels::ops {
namespace {

std::vector<std::size_t> axes_of(const NodeView& node, std::size_t rank) {
  if (node.has_attr("axes")) return normalize_axes(node.attr_ints("axes"), rank);
  std::vector<std::size_t> all(rank);
  for (std::size_t a = 0; a < rank; ++a) all[a] = a;
  return all;
}

void check_count(std::size_t dims, std::size_t axes) {
  if (dims != axes) fail(ErrorCode::mismatch, dims, " dims for ", axes, " axes");
}

void infer(InferContext& context) {
  const auto target = dims_from_input(context, 1);
  if (!context.ranked(0)) return context.set_output(0, context.dtype(0), std::nullopt);
  Dims dims = context.dims(0);
  const auto axes = axes_of(context, dims.size());
  if (target) check_count(target->size(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = target ? (*target)[i] : Dim();
  context.set_output(0, context.dtype(0), std::move(dims));
}

ShapedCopy centered(DType dtype, const Shape& x, const std::vector<std::size_t>& axes,
                    std::span<const std::int64_t> dims) {
  check_count(dims.size(), axes.size());
  Shape y = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (dims[i] < 0) fail(ErrorCode::mismatch, "dim ", dims[i], " is negative");
    y[axes[i]] = dims[i];
  }
  const auto from = row_major(x);
  const auto to = row_major(y);
  std::vector<StridedCopy::Axis> box;
  std::int64_t from_offset = 0;
  std::int64_t to_offset = 0;
  for (std::size_t a = 0; a < x.rank(); ++a) {
    box.push_back({std::min(x[a], y[a]), from[a], to[a]});
    if (x[a] > y[a]) from_offset += (x[a] - y[a]) / 2 * from[a];
    if (x[a] < y[a]) to_offset += (y[a] - x[a]) / 2 * to[a];
  }
  return {y, StridedCopy(dtype, box, from_offset, to_offset)};
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  return bind_copy(
      context, {IntegerParameter(context, 1)},
      [x, dtype = context.dtype(0), axes = axes_of(context, x.rank())](CopyParameters parameters) {
        return centered(dtype, x, axes, parameters[0]);
      },
      {.fill = true});
}

std::vector<Val> grad(GradContext& g) {
  Val dims = shape_of(g.x(0));
  Attributes attributes;
  if (g.has_attr("axes")) {
    dims = gather(dims, g.builder().int64s(g.attr_ints("axes")), 0);
    attributes = {{"axes", g.attr_ints("axes")}};
  }
  return {g.builder().node("CenterCropPad", {g.dy(0), dims}, attributes)};
}

}  // namespace

extern const OpDef center_crop_pad{
    .name = "CenterCropPad", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
