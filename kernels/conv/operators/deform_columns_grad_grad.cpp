// deform_columns_grad_grad.cpp — DeformColumnsGradGrad (ai.ondine): (v, u, s, d, x, offset, mask,
// kernel dims) -> the derivatives of <v, dx> + <u, doffset> + <s, dmask> (DeformColumnsGrad's
// results) by d, x, offset and mask; s and mask may be omitted. It has no derivative itself.
#include "kernels/common/compute_type.h"
#include "kernels/common/op.h"
#include "kernels/conv/sources/deformed_columns.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  for (std::size_t i = 0; i < 3; ++i) context.set_output(i, context.input(i + 3));
  if (context.has_input(6)) context.set_output(3, context.input(6));
}

struct Operands {
  const double *v, *u, *s, *d, *x, *mask;
  double *to_d, *to_x, *to_offset, *to_mask;
};

void add_point(const DeformedColumns& c, const Operands& t, const DeformedPoint& point) {
  const double mask = t.mask != nullptr ? t.mask[point.mask] : 1;
  const double by_mask = t.mask != nullptr && t.s != nullptr ? t.s[point.mask] : 0;
  const double by_row = t.u[point.by_row];
  const double by_column = t.u[point.by_column];
  double row_sum = 0;
  double column_sum = 0;
  double mask_sum = 0;
  for_channels(c, point, [&](std::int64_t plane, std::int64_t column) {
    const double dy = t.d[column];
    double sum = 0;
    for_pixels(c, point, [&](const DeformedPixel& p) {
      const double v = t.v[plane + p.at];
      const double x = t.x[plane + p.at];
      const double along = by_row * p.by_row + by_column * p.by_column;
      const double part = mask * along + by_mask * p.weight;
      sum += mask * p.weight * v + part * x;
      t.to_x[plane + p.at] += dy * part;
      row_sum += dy * (mask * (p.by_row * v + by_column * p.by_both * x) + by_mask * p.by_row * x);
      column_sum +=
          dy * (mask * (p.by_column * v + by_row * p.by_both * x) + by_mask * p.by_column * x);
      mask_sum += dy * (p.weight * v + along * x);
    });
    t.to_d[column] = sum;
  });
  t.to_offset[point.by_row] = row_sum;
  t.to_offset[point.by_column] = column_sum;
  t.to_mask[point.mask] = mask_sum;
}

Kernel bind(BindContext& context) {
  const DeformedColumns c(context, 4);
  c.check_columns(context.shape(3));
  Scratch scratch;
  const ComputeIn<double> v(context, scratch, 0);
  const ComputeIn<double> u(context, scratch, 1);
  const ComputeIn<double> s(context, scratch, 2);
  const ComputeIn<double> d(context, scratch, 3);
  const ComputeIn<double> x(context, scratch, 4);
  const ComputeIn<double> offset(context, scratch, 5);
  const ComputeIn<double> mask(context, scratch, 6);
  const ComputeOut<double> to_d(context, scratch, 0, c.size(), true);
  const ComputeOut<double> to_x(context, scratch, 1, context.shape(4).size(), true);
  const ComputeOut<double> to_offset(context, scratch, 2, 2 * c.points(), true);
  const ComputeOut<double> to_mask(context, scratch, 3, c.points(), true);
  scratch.request(context);
  return [=](KernelContext& call) {
    const Operands operands{v(call),           u(call),         s(call),
                            d(call),           x(call),         mask(call),
                            to_d.data(call),   to_x.data(call), to_offset.data(call),
                            to_mask.data(call)};
    std::fill_n(operands.to_x, c.batch * c.channels * c.plane(), 0.0);
    for_points(call.pool(), c, offset(call),
               [&](const DeformedPoint& point) { add_point(c, operands, point); });
    to_d.store(call);
    to_x.store(call);
    to_offset.store(call);
    if (operands.mask != nullptr) to_mask.store(call);
  };
}

}  // namespace

extern const OpDef deform_columns_grad_grad{
    .name = "DeformColumnsGradGrad", .domain = ondine_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
