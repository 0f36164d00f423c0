// momentum.cpp — Momentum of ai.onnx.preview.training, inputs R, T, X.., G.., V..:
//   g = norm_coefficient X + G;  V' = alpha V + (T > 0 ? beta : 1) g
//   standard: X' = X - R V';  nesterov: X' = X - R (g + alpha V')
#include "kernels/common/expansion.h"
#include "kernels/optimizer/update_sink.h"

namespace ondine::kernels::ops {
namespace {

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

struct Step {
  static constexpr std::size_t groups = 3;
  double alpha, beta, norm;
  bool nesterov;

  explicit Step(const NodeView& node)
      : alpha(required(node, "alpha")),
        beta(required(node, "beta")),
        norm(required(node, "norm_coefficient")),
        nesterov(is_nesterov(node)) {}

  template <class T>
  void operator()(ThreadPool& pool, const Iteration& at, const Variable<T>& v) const {
    const math::Momentum<T> options{.rate = static_cast<T>(at.rate),
                                    .alpha = static_cast<T>(alpha),
                                    .beta = at.count > 0 ? static_cast<T>(beta) : T(1),
                                    .norm = static_cast<T>(norm),
                                    .nesterov = nesterov};
    math::momentum(pool, options, v.n, v.in[0], v.in[1], v.in[2], v.out[0], v.out[1]);
  }
};

void infer(InferContext& context) {
  is_nesterov(context);
  infer_optimizer(context, Step::groups, {0, 2});
}

std::vector<Val> expand(ExpandContext& context) {
  const OptimizerNode node(context, Step::groups);
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
                            .bind = bind_optimizer<Step>,
                            .grad = grad_of_expansion,
                            .expand = expand,
                            .traits = {.cannot_fail = true, .variable_lists = Step::groups}};

extern const UpdateRule momentum_rule = rule_of_step<Step>("Momentum");

}  // namespace ondine::kernels::ops
