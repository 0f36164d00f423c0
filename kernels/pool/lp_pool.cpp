// lp_pool.cpp — y = (sum over the window of |x|^p)^(1/p);  dx = sign x |x|^(p-1) sum of dy y^(1-p)
// over the windows of x, a window of zeros giving none. p is a float in version 1, an integer
// since; 18 added ceil_mode and dilations, 22 bfloat16.
#include "kernels/common/op.h"
#include "kernels/pool/pool.h"

namespace ondine::kernels::ops {
namespace {

double exponent(const NodeView& node) {
  const double p = node.version() < 2 ? double{node.attr_float("p", 2)}
                                      : static_cast<double>(node.attr_int("p", 2));
  if (!(p > 0)) fail(ErrorCode::mismatch, "p is ", p, ", must be above 0");
  return p;
}

void infer(InferContext& context) {
  exponent(context);
  infer_pool(context);
}

Attributes window_attributes(const NodeView& node) {
  Attributes attributes = node.node().attributes;
  std::erase_if(attributes, [](const Attribute& a) { return a.name == "p"; });
  return attributes;
}

std::vector<Val> expand(ExpandContext& context) {
  const double p = exponent(context);
  const Val x = context.x(0);
  const Val powers = p == 1 ? unary("Abs", x) : p == 2 ? x * x : graph::pow(unary("Abs", x), p);
  const Val sums =
      context.builder().node("SumPool", {powers}, window_attributes(context), ondine_domain);
  return {p == 1 ? sums : p == 2 ? unary("Sqrt", sums) : graph::pow(sums, 1 / p)};
}

std::vector<Val> grad(GradContext& g) {
  const double p = exponent(g);
  const Val x = g.x(0);
  const Val y = g.y(0);
  Val dy = g.dy(0);
  if (p != 1) {
    const Val some = graph::greater(y, graph::scalar_like(y, 0));
    const Val safe = graph::where(some, y, graph::scalar_like(y, 1));
    dy = graph::where(some, p == 2 ? dy / safe : dy * graph::pow(safe, 1 - p),
                      graph::scalar_like(y, 0));
  }
  const Val sums = g.builder().node("SumPoolGrad", {dy, graph::shape_of(x)}, window_attributes(g),
                                    ondine_domain);
  if (p == 2) return {x * sums};
  const Val sign = unary("Sign", x);
  return {p == 1 ? sign * sums : sign * graph::pow(unary("Abs", x), p - 1) * sums};
}

}  // namespace

extern const OpDef lp_pool{.name = "LpPool", .infer = infer, .grad = grad, .expand = expand};

}  // namespace ondine::kernels::ops
