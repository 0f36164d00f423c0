// deform_columns_grad.cpp — ai.ondine DeformColumnsGrad: (d, x, offset, mask, kernel extents) ->
// dx, doffset, dmask. With the weights w_t of the pixels t around a point and its mask m, d being
// the derivative of its column:
//   dx_t = d m w_t,  doffset = d m sum of w_t' x_t,  dmask = d sum of w_t x_t.
// DeformColumnsGradGrad: (v, u, s, d, x, offset, mask, kernel extents) -> the derivatives of
// <v, dx> + <u, doffset> + <s, dmask> by d, x, offset and mask; s and mask may be omitted. It has
// no derivative itself.
#include "kernels/common/compute_type.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/deform_columns.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2, 3});
  context.set_output(0, context.input(1));
  context.set_output(1, context.input(2));
  if (context.has_input(3)) context.set_output(2, context.input(3));
}

Kernel bind(BindContext& context) {
  const DeformedColumns c(context, context.shape(1), context.shape(2), kernel_extents(context, 4));
  c.check_mask(context, 3);
  const std::int64_t size = c.batch * c.channels * c.kernel() * c.outputs();
  if (context.shape(0).size() != size) {
    fail(ErrorCode::mismatch, "dcolumns has shape ", context.shape(0));
  }
  const std::int64_t elements = c.batch * c.groups * c.kernel() * c.outputs();
  Scratch scratch;
  const ComputeIn<double> dy(context, scratch, 0);
  const ComputeIn<double> x(context, scratch, 1);
  const ComputeIn<double> offset(context, scratch, 2);
  const ComputeIn<double> mask(context, scratch, 3);
  const ComputeOut<double> dx(context, scratch, 0, context.shape(1).size(), true);
  const ComputeOut<double> doffset(context, scratch, 1, 2 * elements, true);
  const ComputeOut<double> dmask(context, scratch, 2, elements, true);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = dy(call);
    const double* image = x(call);
    const double* moved = offset(call);
    const double* weights = mask(call);
    double* to = dx.data(call);
    double* to_offset = doffset.data(call);
    double* to_mask = dmask.data(call);
    std::fill_n(to, c.batch * c.channels * c.plane(), 0.0);
    const std::int64_t share = c.channels / c.groups;
    call.pool().for_chunks(c.batch * c.groups, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto at = first; at < last; ++at) {
        const std::int64_t n = at / c.groups;
        const std::int64_t g = at % c.groups;
        for_points(c, moved, n, g,
                   [&](double row, double column, std::int64_t k, std::int64_t o,
                       std::int64_t by_row, std::int64_t by_column, std::int64_t m) {
                     const double weight = weights != nullptr ? weights[m] : 1;
                     double row_sum = 0;
                     double column_sum = 0;
                     double value_sum = 0;
                     for (std::int64_t s = 0; s < share; ++s) {
                       const std::int64_t plane = n * c.channels + g * share + s;
                       const double d = from[(plane * c.kernel() + k) * c.outputs() + o];
                       for_pixels(c, row, column, [&](const DeformedPixel& p) {
                         const double v = image[plane * c.plane() + p.at];
                         to[plane * c.plane() + p.at] += d * weight * p.weight;
                         row_sum += d * v * p.by_row;
                         column_sum += d * v * p.by_column;
                         value_sum += d * v * p.weight;
                       });
                     }
                     to_offset[by_row] = weight * row_sum;
                     to_offset[by_column] = weight * column_sum;
                     to_mask[m] = value_sum;
                   });
      }
    });
    dx.store(call);
    doffset.store(call);
    if (weights != nullptr) dmask.store(call);
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
  auto parts = g.builder().nodes("DeformColumnsGradGrad", inputs, g.node().attributes,
                                 masked ? 4 : 3, ondine_domain);
  return parts;
}

void infer_second(InferContext& context) {
  for (std::size_t i = 0; i < 3; ++i) context.set_output(i, context.input(i + 3));
  if (context.has_input(6)) context.set_output(3, context.input(6));
}

Kernel bind_second(BindContext& context) {
  const DeformedColumns c(context, context.shape(4), context.shape(5), kernel_extents(context, 7));
  c.check_mask(context, 6);
  const std::int64_t size = c.batch * c.channels * c.kernel() * c.outputs();
  if (context.shape(3).size() != size) {
    fail(ErrorCode::mismatch, "dcolumns has shape ", context.shape(3));
  }
  const std::int64_t elements = c.batch * c.groups * c.kernel() * c.outputs();
  Scratch scratch;
  const ComputeIn<double> v_in(context, scratch, 0);
  const ComputeIn<double> u_in(context, scratch, 1);
  const ComputeIn<double> s_in(context, scratch, 2);
  const ComputeIn<double> d_in(context, scratch, 3);
  const ComputeIn<double> x_in(context, scratch, 4);
  const ComputeIn<double> offset_in(context, scratch, 5);
  const ComputeIn<double> mask_in(context, scratch, 6);
  const ComputeOut<double> d_out(context, scratch, 0, size, true);
  const ComputeOut<double> x_out(context, scratch, 1, context.shape(4).size(), true);
  const ComputeOut<double> offset_out(context, scratch, 2, 2 * elements, true);
  const ComputeOut<double> mask_out(context, scratch, 3, elements, true);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* v = v_in(call);
    const double* u = u_in(call);
    const double* s = s_in(call);
    const double* d = d_in(call);
    const double* x = x_in(call);
    const double* moved = offset_in(call);
    const double* masks = mask_in(call);
    double* to_d = d_out.data(call);
    double* to_x = x_out.data(call);
    double* to_offset = offset_out.data(call);
    double* to_mask = mask_out.data(call);
    std::fill_n(to_x, c.batch * c.channels * c.plane(), 0.0);
    const std::int64_t share = c.channels / c.groups;
    call.pool().for_chunks(c.batch * c.groups, 1, [&](std::int64_t first, std::int64_t last) {
      for (auto at = first; at < last; ++at) {
        const std::int64_t n = at / c.groups;
        const std::int64_t g = at % c.groups;
        for_points(
            c, moved, n, g,
            [&](double row, double column, std::int64_t k, std::int64_t o, std::int64_t by_row,
                std::int64_t by_column, std::int64_t m) {
              const double mask = masks != nullptr ? masks[m] : 1;
              const double by_mask = masks != nullptr && s != nullptr ? s[m] : 0;
              double row_sum = 0;
              double column_sum = 0;
              double mask_sum = 0;
              for (std::int64_t i = 0; i < share; ++i) {
                const std::int64_t plane = n * c.channels + g * share + i;
                const std::int64_t place = (plane * c.kernel() + k) * c.outputs() + o;
                const double dy = d[place];
                double sum = 0;
                for_pixels(c, row, column, [&](const DeformedPixel& p) {
                  const std::int64_t t = plane * c.plane() + p.at;
                  const double along = u[by_row] * p.by_row + u[by_column] * p.by_column;
                  const double part = mask * along + by_mask * p.weight;
                  sum += mask * p.weight * v[t] + part * x[t];
                  to_x[t] += dy * part;
                  row_sum += dy * (mask * (p.by_row * v[t] + u[by_column] * p.by_both * x[t]) +
                                   by_mask * p.by_row * x[t]);
                  column_sum += dy * (mask * (p.by_column * v[t] + u[by_row] * p.by_both * x[t]) +
                                      by_mask * p.by_column * x[t]);
                  mask_sum += dy * (p.weight * v[t] + along * x[t]);
                });
                to_d[place] = sum;
              }
              to_offset[by_row] = row_sum;
              to_offset[by_column] = column_sum;
              to_mask[m] = mask_sum;
            });
      }
    });
    d_out.store(call);
    x_out.store(call);
    offset_out.store(call);
    if (masks != nullptr) mask_out.store(call);
  };
}

}  // namespace

extern const OpDef deform_columns_grad{.name = "DeformColumnsGrad",
                                       .domain = ondine_domain,
                                       .infer = infer,
                                       .bind = bind,
                                       .grad = grad,
                                       .no_gradient = 0b10000};
extern const OpDef deform_columns_grad_grad{.name = "DeformColumnsGradGrad",
                                            .domain = ondine_domain,
                                            .infer = infer_second,
                                            .bind = bind_second};

}  // namespace ondine::kernels::ops
