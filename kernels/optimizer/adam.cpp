// adam.cpp — Adam of ai.onnx.preview.training, inputs R, T, X.., G.., V.., H..:
//   g = norm_coefficient X + G;  V' = alpha V + (1 - alpha) g;  H' = beta H + (1 - beta) g^2
//   r = T > 0 ? R sqrt(1 - beta^T) / (1 - alpha^T) : R
//   X' = (1 - norm_coefficient_post) (X - r V' / (sqrt H' + epsilon))
#include <cmath>

#include "kernels/common/expansion.h"
#include "kernels/optimizer/update_sink.h"

namespace ondine::kernels::ops {
namespace {

struct Step {
  static constexpr std::size_t groups = 4;
  double alpha, beta, epsilon, norm, norm_post;

  explicit Step(const NodeView& node)
      : alpha(node.attr_float("alpha", 0.9F)),
        beta(node.attr_float("beta", 0.999F)),
        epsilon(node.attr_float("epsilon", 1e-6F)),
        norm(node.attr_float("norm_coefficient", 0.0F)),
        norm_post(node.attr_float("norm_coefficient_post", 0.0F)) {}

  // With the factor that corrects the bias of the means.
  double rate(const Iteration& at) const {
    if (at.count <= 0) return at.rate;
    const auto t = static_cast<double>(at.count);
    return at.rate * (std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t)));
  }

  template <class T>
  void operator()(ThreadPool& pool, const Iteration& at, const Variable<T>& v) const {
    const math::Adam<T> options{.rate = static_cast<T>(rate(at)),
                                .alpha = static_cast<T>(alpha),
                                .beta = static_cast<T>(beta),
                                .norm = static_cast<T>(norm),
                                .norm_post = static_cast<T>(norm_post),
                                .epsilon = static_cast<T>(epsilon)};
    math::adam(pool, options, v.n, v.in[0], v.in[1], v.in[2], v.in[3], v.out[0], v.out[1],
               v.out[2]);
  }
};

void infer(InferContext& context) { infer_optimizer(context, Step::groups, {0, 2, 3}); }

std::vector<Val> expand(ExpandContext& context) {
  const OptimizerNode node(context, Step::groups);
  const double alpha = context.attr_float("alpha", 0.9F);
  const double beta = context.attr_float("beta", 0.999F);
  const double norm = context.attr_float("norm_coefficient", 0.0F);
  const double norm_post = context.attr_float("norm_coefficient_post", 0.0F);
  // Before the second update the result is not used; 0 / 0 would still spoil its derivative.
  const Val count = graph::maximum(node.count(), context.builder().scalar(1, DType::float64));
  const auto remaining = [&](double decay) {
    return 1.0 - graph::pow(context.builder().scalar(decay, DType::float64), count);
  };
  const Val plain = node.rate(DType::float64);
  const Val rate =
      node.if_counted(plain * unary("Sqrt", remaining(beta)) / remaining(alpha), plain);
  return node.each([&](std::span<const Val> v) -> std::vector<Val> {
    const Val x = v[0];
    const Val g = norm == 0 ? v[1] : x * norm + v[1];
    const Val mean = v[2] * alpha + g * (1 - alpha);
    const Val squares = v[3] * beta + g * g * (1 - beta);
    const Val root = unary("Sqrt", squares) + double{context.attr_float("epsilon", 1e-6F)};
    const Val next = x - graph::cast(rate, x.dtype()) * mean / root;
    return {norm_post == 0 ? next : next * (1 - norm_post), mean, squares};
  });
}

}  // namespace

extern const OpDef adam{.name = "Adam",
                        .domain = "ai.onnx.preview.training",
                        .infer = infer,
                        .bind = bind_optimizer<Step>,
                        .grad = grad_of_expansion,
                        .expand = expand,
                        .traits = {.cannot_fail = true, .variable_lists = Step::groups}};

extern const UpdateRule adam_rule = rule_of_step<Step>("Adam");

}  // namespace ondine::kernels::ops
