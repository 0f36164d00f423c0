// elu.cpp — Exponential rectifiers, y = x for x > 0 (times gamma in Selu), else
//   Elu   alpha (e^x - 1)                  dx = dy (y + alpha)
//   Celu  alpha (e^(x / alpha) - 1)        dx = dy (y / alpha + 1)
//   Selu  gamma alpha (e^x - 1)            dx = dy (y + gamma alpha)
// Derivatives read y, whose sign is that of x, so that x can be freed.
#include <cmath>

#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

// e^x - 1 from e^x where that is exact enough, else its series; x <= 0.
inline float less_one(float x, float e) {
  const float series = x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6)))));
  return x > -0.25F ? series : e - 1;
}

// b x for x > 0, else a (e^(x / c) - 1).
template <class T>
void bent_row(const Row& row, T a, T b, T c) {
  const auto& rows = math::vector_kernels<T>();
  for_row_chunks<T>(row, [&](T* y, const T* x, T* t, std::int64_t n) {
    if constexpr (std::is_same_v<T, float>) {
      T low[row_chunk];
      for (std::int64_t i = 0; i < n; ++i) low[i] = x[i] > 0 ? T(0) : x[i] / c;
      rows.exp(t, low, n);
      for (std::int64_t i = 0; i < n; ++i) t[i] = a * less_one(low[i], t[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) t[i] = x[i] > 0 ? T(0) : a * std::expm1(x[i] / c);
    }
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? b * x[i] : t[i];
  });
}

struct EluRows {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) { bent_row<T>(row, row.params.a, 1, 1); };
  }
};
struct CeluRows {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) { bent_row<T>(row, row.params.a, 1, row.params.a); };
  }
};
struct SeluRows {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) {
      const T gamma = row.params.b;
      bent_row<T>(row, gamma * row.params.a, gamma, 1);
    };
  }
};

Params elu_params(const NodeView& node) { return {node.attr_float("alpha", 1.0F)}; }
// Selu-1 has shorter defaults.
Params selu_params(const NodeView& node) {
  const bool first = node.version() < 6;
  return {node.attr_float("alpha", first ? 1.6732F : 1.67326319217681884765625F),
          node.attr_float("gamma", first ? 1.0507F : 1.05070102214813232421875F)};
}

template <class Rows>
Kernel bind(const BindContext& context, Params params) {
  const DType dtype = compute_dtype(context.dtype(0));
  return elementwise(context, pick_row<Rows>(dtype, FullFloats{}), params);
}

Kernel bind_elu(BindContext& context) { return bind<EluRows>(context, elu_params(context)); }
Kernel bind_celu(BindContext& context) { return bind<CeluRows>(context, elu_params(context)); }
Kernel bind_selu(BindContext& context) { return bind<SeluRows>(context, selu_params(context)); }

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
                        .traits = {.inplace = 1}};
extern const OpDef selu = unary_op("Selu", bind_selu, selu_grad);

}  // namespace ondine::kernels::ops
