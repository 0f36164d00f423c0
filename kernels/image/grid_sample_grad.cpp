// grid_sample_grad.cpp — ai.ondine GridSampleGrad: (dy, x, grid) -> dx, dgrid. With the weights w_t
// of the pixels t that point p reads:
//   dx_t = sum over p of w_t dy_p,  dgrid_p = dy_p sum over t of w_t' x_t.
// GridSampleGradGrad: (v, u, dy, x, grid) -> the derivatives of <v, dx> + <u, dgrid> by dy, x and
// grid:  ddy_p = sum of (w_t v_t + u.w_t' x_t),  ddx_t = sum of dy_p u.w_t',
//   ddgrid_p = dy_p sum of (w_t' v_t + w_t'' u x_t).
// It has no derivative itself.
#include "kernels/common/compute_type.h"
#include "kernels/common/op.h"
#include "kernels/image/grid_taps.h"

namespace ondine::kernels::ops {
namespace {

void check_result(const BindContext& context, std::size_t dy, const SampledDims& e) {
  if (context.shape(dy).size() != e.batch * e.channels * e.points) {
    fail(ErrorCode::mismatch, "dy has shape ", context.shape(dy));
  }
}

void infer(InferContext& context) {
  context.set_output(0, context.input(1));
  context.set_output(1, context.input(2));
}

Kernel bind(BindContext& context) {
  const Sampling sampling(context);
  const SampledDims e(context.shape(1), context.shape(2));
  check_result(context, 0, e);
  Scratch scratch;
  const ComputeIn<double> dy(context, scratch, 0);
  const ComputeIn<double> x(context, scratch, 1);
  const ComputeIn<double> grid(context, scratch, 2);
  const ComputeOut<double> dx(context, scratch, 0, e.batch * e.channels * e.plane, true);
  const ComputeOut<double> dgrid(context, scratch, 1, context.shape(2).size(), true);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = dy(call);
    const double* image = x(call);
    double* to = dx.data(call);
    double* change = dgrid.data(call);
    std::fill_n(to, e.batch * e.channels * e.plane, 0.0);
    std::fill_n(change, e.batch * e.points * static_cast<std::int64_t>(e.axes), 0.0);
    const auto body = [&](std::int64_t n, std::int64_t p, const SampledPixel& pixel) {
      double sum = 0;
      for (std::int64_t c = 0; c < e.channels; ++c) {
        const std::int64_t plane = n * e.channels + c;
        const double d = from[plane * e.points + p];
        to[plane * e.plane + pixel.offset] += pixel.weight * d;
        sum += d * image[plane * e.plane + pixel.offset];
      }
      for (std::size_t axis = 0; axis < e.axes; ++axis) {
        change[e.coordinate(n, p, axis)] += sum * pixel.slope[axis];
      }
    };
    for_all_pixels(call.pool(), sampling, e, grid(call), body);
    dx.store(call);
    dgrid.store(call);
  };
}

std::vector<Val> grad(GradContext& g) {
  const std::vector<Val> inputs{g.dy_or_zeros(0), g.dy_or_zeros(1), g.x(0), g.x(1), g.x(2)};
  return g.builder().nodes("GridSampleGradGrad", inputs, g.node().attributes, 3, ondine_domain);
}

void infer_second(InferContext& context) {
  for (std::size_t i = 0; i < 3; ++i) context.set_output(i, context.input(i + 2));
}

Kernel bind_second(BindContext& context) {
  const Sampling sampling(context);
  const SampledDims e(context.shape(3), context.shape(4));
  check_result(context, 2, e);
  if (!(context.shape(0) == context.shape(3)) || !(context.shape(1) == context.shape(4))) {
    fail(ErrorCode::mismatch, "v has shape ", context.shape(0), ", u ", context.shape(1));
  }
  Scratch scratch;
  const ComputeIn<double> v(context, scratch, 0);
  const ComputeIn<double> u(context, scratch, 1);
  const ComputeIn<double> dy(context, scratch, 2);
  const ComputeIn<double> x(context, scratch, 3);
  const ComputeIn<double> grid(context, scratch, 4);
  const ComputeOut<double> ddy(context, scratch, 0, context.shape(2).size(), true);
  const ComputeOut<double> ddx(context, scratch, 1, context.shape(3).size(), true);
  const ComputeOut<double> ddgrid(context, scratch, 2, context.shape(4).size(), true);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* by_image = v(call);
    const double* by_grid = u(call);
    const double* from = dy(call);
    const double* image = x(call);
    double* to_dy = ddy.data(call);
    double* to_image = ddx.data(call);
    double* to_grid = ddgrid.data(call);
    std::fill_n(to_dy, e.batch * e.channels * e.points, 0.0);
    std::fill_n(to_image, e.batch * e.channels * e.plane, 0.0);
    std::fill_n(to_grid, e.batch * e.points * static_cast<std::int64_t>(e.axes), 0.0);
    const auto body = [&](std::int64_t n, std::int64_t p, const SampledPixel& pixel) {
      double along = 0;  // u.w'
      for (std::size_t a = 0; a < e.axes; ++a) {
        along += by_grid[e.coordinate(n, p, a)] * pixel.slope[a];
      }
      double with_v = 0;
      double with_x = 0;
      for (std::int64_t c = 0; c < e.channels; ++c) {
        const std::int64_t plane = n * e.channels + c;
        const std::int64_t i = plane * e.plane + pixel.offset;
        const double d = from[plane * e.points + p];
        to_dy[plane * e.points + p] += pixel.weight * by_image[i] + along * image[i];
        to_image[i] += d * along;
        with_v += d * by_image[i];
        with_x += d * image[i];
      }
      for (std::size_t b = 0; b < e.axes; ++b) {
        double bend = 0;
        for (std::size_t a = 0; a < e.axes; ++a) {
          bend += by_grid[e.coordinate(n, p, a)] * pixel.curve[a][b];
        }
        to_grid[e.coordinate(n, p, b)] += with_v * pixel.slope[b] + with_x * bend;
      }
    };
    for_all_pixels(call.pool(), sampling, e, grid(call), body);
    ddy.store(call);
    ddx.store(call);
    ddgrid.store(call);
  };
}

}  // namespace

extern const OpDef grid_sample_grad{
    .name = "GridSampleGrad", .domain = ondine_domain, .infer = infer, .bind = bind, .grad = grad};
extern const OpDef grid_sample_grad_grad{.name = "GridSampleGradGrad",
                                         .domain = ondine_domain,
                                         .infer = infer_second,
                                         .bind = bind_second};

}  // namespace ondine::kernels::ops
