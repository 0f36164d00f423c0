// elu.cpp — Exponential rectifiers, y = x for x > 0 (times gamma in Selu), else
//   Elu   alpha (e^x - 1)                  dx = dy (y + alpha)
//   Celu  alpha (e^(x / alpha) - 1)        dx = dy (y / alpha + 1)
//   Selu  gamma alpha (e^x - 1)            dx = dy (y + gamma alpha)
// The rules read y where its sign is that of x.
#include <cmath>

#include "kernels/ops/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto elu_of = [](auto x, Params p) { return x > 0 ? x : p.a * std::expm1(x); };
constexpr auto celu_of = [](auto x, Params p) { return x > 0 ? x : p.a * std::expm1(x / p.a); };
constexpr auto selu_of = [](auto x, Params p) {
  return x > 0 ? p.b * x : p.b * (p.a * std::expm1(x));
};

Params elu_params(const NodeView& node) { return {node.attr_float("alpha", 1.0F)}; }
// Selu-1 has shorter defaults.
Params selu_params(const NodeView& node) {
  const bool first = node.version() < 6;
  return {node.attr_float("alpha", first ? 1.6732F : 1.67326319217681884765625F),
          node.attr_float("gamma", first ? 1.0507F : 1.05070102214813232421875F)};
}

Kernel bind_elu(BindContext& context) {
  return bind_unary<elu_of>(context, FullFloats{}, elu_params(context));
}
Kernel bind_celu(BindContext& context) {
  return bind_unary<celu_of>(context, FullFloats{}, elu_params(context));
}
Kernel bind_selu(BindContext& context) {
  return bind_unary<selu_of>(context, FullFloats{}, selu_params(context));
}

void infer_celu(InferContext& context) {
  if (elu_params(context).a == 0) fail(ErrorCode::invalid_model, "alpha of Celu is 0");
  infer_same_as_input(context);
}

Val positive(Val side) { return greater(side, scalar_like(side, 0)); }

std::vector<Val> elu_grad(GradContext& g) {
  const double alpha = elu_params(g).a;
  const Val x_positive = positive(alpha >= 0 ? g.y(0) : g.x(0));
  return {where(x_positive, g.dy(0), g.dy(0) * (g.y(0) + alpha))};
}

std::vector<Val> celu_grad(GradContext& g) {
  const double alpha = elu_params(g).a;
  const Val x_positive = positive(alpha > 0 ? g.y(0) : g.x(0));
  return {where(x_positive, g.dy(0), g.dy(0) * (g.y(0) / alpha + 1.0))};
}

std::vector<Val> selu_grad(GradContext& g) {
  const auto [alpha, gamma] = selu_params(g);
  const Val x_positive = positive(alpha >= 0 && gamma > 0 ? g.y(0) : g.x(0));
  const Val dy = g.dy(0);
  return {where(x_positive, dy * gamma, dy * (g.y(0) + double{alpha} * double{gamma}))};
}

}  // namespace

extern const OpDef elu = unary_op("Elu", bind_elu, elu_grad);
extern const OpDef celu{.name = "Celu",
                        .infer = infer_celu,
                        .bind = bind_celu,
                        .grad = celu_grad,
                        .facts = {.inplace = 1}};
extern const OpDef selu = unary_op("Selu", bind_selu, selu_grad);

}  // namespace ondine::kernels::ops
