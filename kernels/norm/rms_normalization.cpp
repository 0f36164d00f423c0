// rms_normalization.cpp — y = x / sqrt(mean x^2 + epsilon) scale over the axes from `axis` on, in
// float for smaller types. The derivative is LayerNormalizationGrad with a mean of 0; where the
// dtypes of x and scale differ, that of the expansion.
#include "kernels/common/expansion.h"
#include "kernels/common/require_broadcast.h"
#include "kernels/common/stored_input.h"
#include "kernels/norm/layer_norm_primitive.h"
#include "kernels/norm/norm_rows.h"

namespace ondine::kernels::ops {
namespace {

constexpr float default_epsilon = 1e-5F;

void infer(InferContext& context) {
  const Type& x = context.input(0);
  if (x.ranked()) {
    const auto axis = NodeView::normalize_axis(context.attr_int("axis", -1), x.rank());
    const Dims row(x.dims->begin() + static_cast<std::ptrdiff_t>(axis), x.dims->end());
    require_broadcast(context, 1, row, "scale");
  }
  context.set_output(0, context.dtype(1), x.dims);
}

Kernel bind(BindContext& context) {
  const Shape shape = context.shape(0);
  const NormRows rows = norm_rows(context, shape);
  const double epsilon = context.attr_float("epsilon", default_epsilon);
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    const math::LayerNormPrimitive<C> norm({.rows = rows.count,
                                            .length = rows.length,
                                            .epsilon = epsilon,
                                            .centred = false,
                                            .x_stored = storage_of<C>(context, 0)});
    context.set_implementation(norm.name(), norm.isa());
    Scratch scratch;
    const StoredIn<C> x(context, scratch, 0);
    const RowIn<C> scale(context, scratch, 1, shape, rows.axis);
    const StoredOut<C> y(context, scratch, 0, shape.size());
    scratch.request(context);
    const bool copies = context.has_output(1);
    return [=](KernelContext& call) {
      norm.run(call.pool(), {.x = x(call),
                             .scale = scale(call),
                             .y = y(call),
                             .bf16_x = copies ? call.out<std::uint16_t>(1) : nullptr});
      y.store(call);
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  if (g.x(0).dtype() != g.x(1).dtype()) return grad_of_expansion(g);
  const std::vector<Val> inputs{g.dy(0), g.x(0), g.x(1)};
  auto parts = g.builder().nodes("LayerNormalizationGrad", inputs,
                                 {{"axis", g.attr_int("axis", -1)},
                                  {"epsilon", g.attr_float("epsilon", default_epsilon)},
                                  {"centred", std::int64_t{0}}},
                                 2, ondine_domain);
  if (g.wants(1)) parts[1] = graph::sum_to(parts[1], g.x(1));
  return parts;
}

std::vector<Val> expand(ExpandContext& context) {
  const Val x = context.x(0);
  const auto axes = row_axes(context, x);
  // 16-bit elements are squared and summed in float.
  const Val compute = graph::cast(x, x.dtype() == DType::float64 ? DType::float64 : DType::float32);
  const Val square = graph::reduce_mean(compute * compute, axes, true);
  const Val root = unary("Sqrt", square + double{context.attr_float("epsilon", default_epsilon)});
  const Val y = graph::cast(compute / root, context.x(1).dtype()) * context.x(1);
  return {with_dims_of(y, x, "dims of X and of X times scale")};
}

}  // namespace

extern const OpDef rms_normalization{.name = "RMSNormalization",
                                     .infer = infer,
                                     .bind = bind,
                                     .grad = grad,
                                     .expand = expand,
                                     .traits = {.per_sample = 1,
                                                .is_per_sample = normalizes_rows_of_samples,
                                                .cheap = true,
                                                .cannot_fail = true},
                                     .rounded = {.reads = 0b1, .writes = true, .copy = 1}};

}  // namespace ondine::kernels::ops
