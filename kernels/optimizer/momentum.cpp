// momentum.cpp — Momentum of ai.onnx.preview.training, inputs R, T, X.., G.., V..:
//   g = norm_coefficient X + G;  V' = alpha V + (T > 0 ? beta : 1) g
//   standard: X' = X - R V';  nesterov: X' = X - R (g + alpha V')
#include "kernels/common/expansion.h"
#include "kernels/optimizer/optimizer.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t groups = 3;

struct Step {
  double alpha, beta, norm;
  bool nesterov;

  template <class T>
  void operator()(ThreadPool& pool, const Iteration& at, const Variable<T>& v) const {
    const math::Momentum<T> options{.rate = static_cast<T>(at.rate),
                                    .alpha = static_cast<T>(alpha),
                                    .beta = at.count > 0 ? static_cast<T>(beta) : T(1),
                                    .norm = static_cast<T>(norm),
                                    .nesterov = nesterov};
    math::momentum(pool, options, v.n, v.in(0), v.in(1), v.in(2), v.out(0), v.out(1));
  }
};

bool is_nesterov(const NodeView& node) {
  const std::string mode = node.attr_string("mode", "");
  if (mode != "standard" && mode != "nesterov") {
    fail(ErrorCode::invalid_model, "attribute \"mode\" is ", quoted(mode),
         ", needed: \"standard\" or \"nesterov\"");
  }
  return mode == "nesterov";
}

float required(const NodeView& node, std::string_view name) {
  if (!node.has_attr(name))
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " is missing");
  return node.attr_float(name, 0.0F);
}

void infer(InferContext& context) {
  is_nesterov(context);
  infer_optimizer(context, groups, {0, 2});
}

Kernel bind(BindContext& context) {
  return bind_optimizer(context, groups,
                        Step{.alpha = required(context, "alpha"),
                             .beta = required(context, "beta"),
                             .norm = required(context, "norm_coefficient"),
                             .nesterov = is_nesterov(context)});
}

std::vector<Val> expand(ExpandContext& context) {
  const OptimizerNode node(context, groups);
  const bool nesterov = is_nesterov(context);
  const double alpha = required(context, "alpha");
  const double norm = required(context, "norm_coefficient");
  return node.each([&](std::span<const Val> v) -> std::vector<Val> {
    const Val x = v[0];
    const Val g = norm == 0 ? v[1] : x * norm + v[1];
    const Val beta =
        node.if_counted(graph::scalar_like(x, required(context, "beta")), graph::scalar_like(x, 1));
    const Val velocity = v[2] * alpha + beta * g;
    const Val step = nesterov ? g + velocity * alpha : velocity;
    return {x - node.rate(x.dtype()) * step, velocity};
  });
}

}  // namespace

extern const OpDef momentum{.name = "Momentum",
                            .domain = "ai.onnx.preview.training",
                            .infer = infer,
                            .bind = bind,
                            .grad = grad_of_expansion,
                            .expand = expand,
                            .traits = {.cannot_fail = true, .variable_lists = groups}};

}  // namespace ondine::kernels::ops
