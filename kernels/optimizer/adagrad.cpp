// adagrad.cpp — Adagrad of ai.onnx.preview.training, inputs R, T, X.., G.., H..:
//   g = norm_coefficient X + G;  H' = H + g^2;  r = R / (1 + T decay_factor)
//   X' = X - r g / (sqrt H' + epsilon)
#include "kernels/common/expansion.h"
#include "kernels/optimizer/update_sink.h"

namespace ondine::kernels::ops {
namespace {

struct Step {
  static constexpr std::size_t groups = 3;
  double decay, epsilon, norm;

  explicit Step(const NodeView& node)
      : decay(node.attr_float("decay_factor", 0.0F)),
        epsilon(node.attr_float("epsilon", 1e-6F)),
        norm(node.attr_float("norm_coefficient", 0.0F)) {}

  template <class T>
  void operator()(ThreadPool& pool, const Iteration& at, const Variable<T>& v) const {
    const double rate = at.rate / (1 + static_cast<double>(at.count) * decay);
    const math::Adagrad<T> options{.rate = static_cast<T>(rate),
                                   .norm = static_cast<T>(norm),
                                   .epsilon = static_cast<T>(epsilon)};
    math::adagrad(pool, options, v.n, v.in[0], v.in[1], v.in[2], v.out[0], v.out[1]);
  }
};

void infer(InferContext& context) { infer_optimizer(context, Step::groups, {0, 2}); }

std::vector<Val> expand(ExpandContext& context) {
  const OptimizerNode node(context, Step::groups);
  const double norm = context.attr_float("norm_coefficient", 0.0F);
  const Val rate = node.rate(DType::float64) /
                   (node.count() * double{context.attr_float("decay_factor", 0.0F)} + 1.0);
  return node.each([&](std::span<const Val> v) -> std::vector<Val> {
    const Val x = v[0];
    const Val g = norm == 0 ? v[1] : x * norm + v[1];
    const Val squares = v[2] + g * g;
    const Val root = unary("Sqrt", squares) + double{context.attr_float("epsilon", 1e-6F)};
    return {x - graph::cast(rate, x.dtype()) * g / root, squares};
  });
}

}  // namespace

extern const OpDef adagrad{.name = "Adagrad",
                           .domain = "ai.onnx.preview.training",
                           .infer = infer,
                           .bind = bind_optimizer<Step>,
                           .grad = grad_of_expansion,
                           .expand = expand,
                           .traits = {.cannot_fail = true, .variable_lists = Step::groups}};

extern const UpdateRule adagrad_rule = rule_of_step<Step>("Adagrad");

}  // namespace ondine::kernels::ops
