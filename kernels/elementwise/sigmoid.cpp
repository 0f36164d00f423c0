// sigmoid.cpp — s(x) = 1 / (1 + e^-x) and related functions.
//   Sigmoid      s(x)                             dx = dy y (1 - y)
//   HardSigmoid  min(1, max(0, alpha x + beta))   dx = alpha dy where 0 < y < 1
//   HardSwish    x min(1, max(0, x / 6 + 1/2))    dx = dy (x / 3 + 1/2) for |x| < 3, dy above
//   Swish        x s(alpha x)                     dx = dy (s + alpha y (1 - s))
#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto sigmoid_rows = [](const auto& rows) { return rows.sigmoid; };
constexpr auto hard_sigmoid_of = [](auto x, Params p) {
  const auto line = p.a * x + p.b;
  return line < 0 ? decltype(x)(0) : line > 1 ? decltype(x)(1) : line;
};
constexpr auto hard_swish_of = [](auto x, Params) {
  using T = decltype(x);
  return x <= T(-3) ? T(0) : x >= T(3) ? x : x * (x / 6 + T(0.5));
};

struct SwishRows {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) {
      const auto& rows = math::vector_kernels<T>();
      for_row_chunks<T>(row, [&](T* y, const T* x, T* t, std::int64_t n) {
        rows.scale(t, x, row.params.a, n);
        rows.sigmoid(t, t, n);
        rows.mul.vv(y, x, t, n);
      });
    };
  }
};

Params hard_sigmoid_params(const NodeView& node) {
  return {node.attr_float("alpha", 0.2F), node.attr_float("beta", 0.5F)};
}
Params swish_params(const NodeView& node) { return {node.attr_float("alpha", 1.0F)}; }

Kernel bind_hard_sigmoid(BindContext& context) {
  return bind_unary<hard_sigmoid_of>(context, FullFloats{}, hard_sigmoid_params(context));
}
Kernel bind_swish(BindContext& context) {
  return elementwise(context, pick_row<SwishRows>(compute_dtype(context.dtype(0)), FullFloats{}),
                     swish_params(context));
}

std::vector<Val> sigmoid_grad(GradContext& g) {
  const Val y = g.y(0);
  return {g.dy(0) * y * (1.0 - y)};
}

std::vector<Val> hard_sigmoid_grad(GradContext& g) {
  const Val y = g.y(0);
  const Val zero = scalar_like(y, 0);
  const Val inside = logical_and(greater(y, zero), less(y, scalar_like(y, 1)));
  return {where(inside, g.dy(0) * hard_sigmoid_params(g).a, zero)};
}

std::vector<Val> hard_swish_grad(GradContext& g) {
  const Val x = g.x(0);
  const Val dy = g.dy(0);
  const Val below = where(greater(x, scalar_like(x, -3)), dy * (x / 3.0 + 0.5), scalar_like(x, 0));
  return {where(less(x, scalar_like(x, 3)), below, dy)};
}

std::vector<Val> swish_grad(GradContext& g) {
  const double alpha = swish_params(g).a;
  const Val s = unary("Sigmoid", alpha == 1 ? g.x(0) : g.x(0) * alpha);
  const Val bent = g.y(0) * (1.0 - s);
  return {g.dy(0) * (s + (alpha == 1 ? bent : bent * alpha))};
}

}  // namespace

extern const OpDef sigmoid =
    unary_op("Sigmoid", bind_vector_op<sigmoid_rows>, sigmoid_grad, false, rounded_unary);
extern const OpDef hard_sigmoid =
    unary_op("HardSigmoid", bind_hard_sigmoid, hard_sigmoid_grad, true);
extern const OpDef hard_swish =
    unary_op("HardSwish", bind_unary_op<hard_swish_of>, hard_swish_grad, true);
extern const OpDef swish = unary_op("Swish", bind_swish, swish_grad);

}  // namespace ondine::kernels::ops
