// grid_sample.cpp — y at each point of the grid is x interpolated there; coordinates run from -1 to
// 1 over x, the last axis of x first. Version 20 renamed bilinear and bicubic to linear and cubic
// and added more spatial axes, 22 bfloat16. Derivative: grid_sample_grad.cpp.
#include "kernels/common/compute_type.h"
#include "kernels/common/op.h"
#include "kernels/image/grid_taps.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const Sampling sampling(context);
  const Type& x = context.input(0);
  if (!x.ranked() || !context.ranked(1)) return context.set_output(0, x.dtype, std::nullopt);
  const Dims& grid = context.dims(1);
  const std::size_t axes = x.rank() < 3 ? 0 : x.rank() - 2;
  if (axes == 0 || axes > 3) context.reject("X must have rank 3 to 5, found ", x.rank());
  if (grid.size() != x.rank()) {
    context.reject("grid ", graph::to_string(grid), " does not fit X ", graph::to_string(*x.dims));
  }
  unify(grid.back(), static_cast<std::int64_t>(axes), "coordinates in grid and axes of X");
  Dims y{unify((*x.dims)[0], grid[0], "batches"), (*x.dims)[1]};
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  context.set_output(0, x.dtype, y);
}

Kernel bind(BindContext& context) {
  const Sampling sampling(context);
  const SampledDims e(context.shape(0), context.shape(1));
  Scratch scratch;
  const ComputeIn<double> x(context, scratch, 0);
  const ComputeIn<double> grid(context, scratch, 1);
  const ComputeOut<double> y(context, scratch, 0, e.batch * e.channels * e.points);
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* from = x(call);
    const double* at = grid(call);
    double* to = y.data(call);
    call.pool().for_chunks(e.batch * e.points, 256, [&](std::int64_t first, std::int64_t last) {
      for (auto p = first; p < last; ++p) {
        const std::int64_t n = p / e.points;
        double* out = to + n * e.channels * e.points + p % e.points;
        for (std::int64_t c = 0; c < e.channels; ++c) out[c * e.points] = 0;
        const double* in = from + n * e.channels * e.plane;
        for_pixels(sampling, e, at + p * static_cast<std::int64_t>(e.axes),
                   [&](const SampledPixel& pixel) {
                     for (std::int64_t c = 0; c < e.channels; ++c) {
                       out[c * e.points] += pixel.weight * in[c * e.plane + pixel.offset];
                     }
                   });
      }
    });
    y.store(call);
  };
}

std::vector<Val> grad(GradContext& g) {
  const std::vector<Val> inputs{g.dy(0), g.x(0), g.x(1)};
  return g.builder().nodes("GridSampleGrad", inputs, g.node().attributes, 2, ondine_domain);
}

}  // namespace

extern const OpDef grid_sample{.name = "GridSample", .infer = infer, .bind = bind, .grad = grad};

}  // namespace ondine::kernels::ops
