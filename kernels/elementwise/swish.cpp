// swish.cpp — y = x s, s = 1 / (1 + e^(-alpha x));  dx = dy s (1 + alpha x (1 - s)).
#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

Params params_of(const NodeView& node) { return {node.attr_float("alpha", 1.0F)}; }

struct SwishRows {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) {
      math::vector_kernels<T>().swish(row.out<T>(), row.in<T>(0), static_cast<T>(row.params.a),
                                      row.n);
    };
  }
};

struct GradientRows {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) {
      math::vector_kernels<T>().swish_gradient(row.out<T>(), row.in<T>(0), row.in<T>(1),
                                               static_cast<T>(row.params.a), row.n);
    };
  }
};

Kernel bind(BindContext& context) {
  return elementwise(context, pick_row<SwishRows>(compute_dtype(context.dtype(0)), FullFloats{}),
                     params_of(context));
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("SwishGrad", {g.dy(0), g.x(0)}, {{"alpha", g.attr_float("alpha", 1.0F)}},
                           ondine_domain)};
}

Kernel bind_grad(BindContext& context) {
  return elementwise(context, pick_row<GradientRows>(compute_dtype(context.dtype(0)), FullFloats{}),
                     params_of(context));
}

std::vector<Val> expand_grad(ExpandContext& context) {
  const double alpha = params_of(context).a;
  const Val scaled = alpha == 1 ? context.x(1) : context.x(1) * alpha;
  const Val s = unary("Sigmoid", scaled);
  return {context.x(0) * s * (1.0 + scaled * (1.0 - s))};
}

}  // namespace

extern const OpDef swish{
    .name = "Swish",
    .infer = infer_same_as_input,
    .bind = bind,
    .grad = grad,
    .traits = {.inplace = 1, .per_sample = 1, .cheap = true, .cannot_fail = true},
    .rounded = {.reads = 0b1, .writes = true, .follows = true, .copy = 1}};
extern const OpDef swish_grad = unary_grad_op("SwishGrad", bind_grad, expand_grad);

}  // namespace ondine::kernels::ops
