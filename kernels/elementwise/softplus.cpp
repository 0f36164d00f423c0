// softplus.cpp
//   Softplus  p(x) = ln(1 + e^x)   dx = dy s(x), s: Sigmoid
//   Softsign  x / (1 + |x|)        dx = dy / (1 + |x|)^2
//   Mish      x t, t = tanh p(x)   dx = dy (t + x s(x) (1 - t^2))
#include <cmath>

#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto softplus_rows = [](const auto& rows) { return rows.softplus; };
constexpr auto softsign_of = [](auto x, Params) { return x / (1 + std::fabs(x)); };

struct MishRows {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) {
      const auto& rows = math::vector_kernels<T>();
      for_row_chunks<T>(row, [&](T* y, const T* x, T* t, std::int64_t n) {
        rows.softplus(t, x, n);
        rows.tanh(t, t, n);
        rows.mul.vv(y, x, t, n);
      });
    };
  }
};

Kernel bind_mish(BindContext& context) {
  return elementwise(context, pick_row<MishRows>(compute_dtype(context.dtype(0)), FullFloats{}));
}

std::vector<Val> softplus_grad(GradContext& g) { return {g.dy(0) * unary("Sigmoid", g.x(0))}; }

std::vector<Val> softsign_grad(GradContext& g) {
  const Val t = 1.0 + unary("Abs", g.x(0));
  return {g.dy(0) / (t * t)};
}

std::vector<Val> mish_grad(GradContext& g) {
  const Val x = g.x(0);
  const Val t = unary("Tanh", unary("Softplus", x));
  return {g.dy(0) * (t + x * unary("Sigmoid", x) * (1.0 - t * t))};
}

}  // namespace

extern const OpDef softplus = unary_op("Softplus", bind_vector_op<softplus_rows>, softplus_grad);
extern const OpDef softsign = unary_op("Softsign", bind_unary_op<softsign_of>, softsign_grad, true);
extern const OpDef mish = unary_op("Mish", bind_mish, mish_grad);

}  // namespace ondine::kernels::ops
