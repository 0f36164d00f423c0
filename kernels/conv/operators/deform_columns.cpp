// deform_columns.cpp — DeformColumns (ai.ondine): (x, offset, mask, kernel dims) -> [N, C kernel,
// outputs], the columns whose product with W is DeformConv. The mask may be omitted.
#include <array>

#include "kernels/common/compute_type.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"
#include "kernels/conv/sources/deformed_columns.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  const Dims x = dims_of_rank(context, 0, 4, "x");
  const Dims offset = dims_of_rank(context, 1, 4, "offset");
  const auto kernel = dims_from_input(context, 3);
  if (kernel && kernel->size() != 2) context.reject("two kernel dims are needed");
  const Dim elements = kernel ? product(*kernel) : Dim();
  if (elements.known()) {
    const std::array window_dims{(*kernel)[0].size(), (*kernel)[1].size()};
    const Window window = read_window(context, window_dims);
    for (std::size_t i = 0; i < 2; ++i) {
      unify(offset[2 + i], output_dim(window.axes[i], x[2 + i], AutoPad::notset, false),
            "output dims and those of offset");
    }
  }
  context.set_output(0, context.dtype(0),
                     Dims{x[0], multiply(x[1], elements), multiply(offset[2], offset[3])});
}

Kernel bind(BindContext& context) {
  const DeformedColumns c(context, 0);
  Scratch scratch;
  const ComputeIn<double> x_in(context, scratch, 0);
  const ComputeIn<double> offset(context, scratch, 1);
  const ComputeIn<double> mask_in(context, scratch, 2);
  const ComputeOut<double> y(context, scratch, 0, c.size());
  scratch.request(context);
  return [=](KernelContext& call) {
    const double* x = x_in(call);
    const double* mask = mask_in(call);
    double* to = y.data(call);
    for_points(call.pool(), c, offset(call), [&](const DeformedPoint& point) {
      for_channels(c, point, [&](std::int64_t plane, std::int64_t column) {
        double sum = 0;
        for_pixels(c, point, [&](const DeformedPixel& p) { sum += p.weight * x[plane + p.at]; });
        if (mask != nullptr) sum *= mask[point.mask];
        to[column] = sum;
      });
    });
    y.store(call);
  };
}

std::vector<Val> grad(GradContext& g) {
  const std::vector<Val> inputs{g.dy(0), g.x(0), g.x(1), g.x(2), g.x(3)};
  const auto parts = g.builder().nodes("DeformColumnsGrad", inputs, g.node().attributes,
                                       g.x(2) ? 3 : 2, ondine_domain);
  return {parts[0], parts[1], parts.size() > 2 ? parts[2] : Val()};
}

}  // namespace

extern const OpDef deform_columns{.name = "DeformColumns",
                                  .domain = ondine_domain,
                                  .infer = infer,
                                  .bind = bind,
                                  .grad = grad,
                                  .no_gradient = 0b1000};

}  // namespace ondine::kernels::ops
