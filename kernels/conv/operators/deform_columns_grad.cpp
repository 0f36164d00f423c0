// deform_columns_grad.cpp — DeformColumnsGrad (ai.ondine): (d, x, offset, mask, kernel dims) -> dx,
// doffset, dmask. With the weights w_t of the pixels t around a point and its mask m, d being the
// derivative of its column:
//   dx_t = d m w_t,  doffset = d m sum of w_t' x_t,  dmask = d sum of w_t x_t.
#include "kernels/common/compute_type.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/sources/deformed_columns.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2, 3});
  context.set_output(0, context.input(1));
  context.set_output(1, context.input(2));
  if (context.has_input(3)) context.set_output(2, context.input(3));
}

Kernel bind(BindContext& context) {
  const DeformedColumns c(context, 1);
  c.check_columns(context.shape(0));
  Scratch scratch;
  const ComputeIn<double> d_in(context, scratch, 0);
  const ComputeIn<double> x_in(context, scratch, 1);
  const ComputeIn<double> offset(context, scratch, 2);
  const ComputeIn<double> mask_in(context, scratch, 3);
  const ComputeOut<double> dx_out(context, scratch, 0, context.shape(1).size(), true);
  const ComputeOut<double> doffset_out(context, scratch, 1, 2 * c.points(), true);
  const ComputeOut<double> dmask_out(context, scratch, 2, c.points(), true);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* d = d_in(call);
    const double* x = x_in(call);
    const double* mask = mask_in(call);
    double* dx = dx_out.data(call);
    double* doffset = doffset_out.data(call);
    double* dmask = dmask_out.data(call);
    std::fill_n(dx, c.batch * c.channels * c.plane(), 0.0);
    for_points(call.pool(), c, offset(call), [&](const DeformedPoint& point) {
      const double weight = mask != nullptr ? mask[point.mask] : 1;
      double row_sum = 0;
      double column_sum = 0;
      double value_sum = 0;
      for_channels(c, point, [&](std::int64_t plane, std::int64_t column) {
        const double dy = d[column];
        for_pixels(c, point, [&](const DeformedPixel& p) {
          const double v = x[plane + p.at];
          dx[plane + p.at] += dy * weight * p.weight;
          row_sum += dy * v * p.by_row;
          column_sum += dy * v * p.by_column;
          value_sum += dy * v * p.weight;
        });
      });
      doffset[point.by_row] = weight * row_sum;
      doffset[point.by_column] = weight * column_sum;
      dmask[point.mask] = value_sum;
    });
    dx_out.store(call);
    doffset_out.store(call);
    if (mask != nullptr) dmask_out.store(call);
  };
}

std::vector<Val> grad(GradContext& g) {
  const bool masked = static_cast<bool>(g.x(3));
  const std::vector<Val> inputs{g.dy_or_zeros(0),
                                g.dy_or_zeros(1),
                                masked ? g.dy_or_zeros(2) : Val(),
                                g.x(0),
                                g.x(1),
                                g.x(2),
                                g.x(3),
                                g.x(4)};
  return g.builder().nodes("DeformColumnsGradGrad", inputs, g.node().attributes, masked ? 4 : 3,
                           ondine_domain);
}

}  // namespace

extern const OpDef deform_columns_grad{.name = "DeformColumnsGrad",
                                       .domain = ondine_domain,
                                       .infer = infer,
                                       .bind = bind,
                                       .grad = grad,
                                       .no_gradient = 0b10000};

}  // namespace ondine::kernels::ops
