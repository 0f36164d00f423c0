// relu_grad.cpp — ReluGrad (ai.ondine): dx = dy where y > 0, y the output of Relu.
// ClipGrad (ai.ondine), attributes low and high: dx = dy where neither x < low nor x > high.
#include <limits>

#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto relu_gradients = [](const auto& rows) { return rows.relu_gradient; };

struct ClipRow {
  template <class T>
  static RowFunction make() {
    return [](const Row& row) {
      const T* dy = row.in<T>(0);
      const T* x = row.in<T>(1);
      T* dx = row.out<T>();
      const T low = static_cast<T>(row.params.a);
      const T high = static_cast<T>(row.params.b);
#pragma GCC ivdep  // dx may be dy or x
      for (std::int64_t i = 0; i < row.n; ++i) {
        const T g = dy[i];
        const T v = x[i];
        const T kept = v < low ? T(0) : g;
        dx[i] = v > high ? T(0) : kept;
      }
    };
  }
};

Params bounds(const NodeView& node) {
  return {node.attr_float("low", -std::numeric_limits<float>::infinity()),
          node.attr_float("high", std::numeric_limits<float>::infinity())};
}

template <class Rows>
Kernel bind(BindContext& context) {
  return elementwise(context,
                     pick_row<Rows>(compute_dtype(context.dtype(0)), Types<float, double>{}),
                     bounds(context));
}

std::vector<Val> expand_relu(ExpandContext& context) {
  const Val y = context.x(1);
  return {where(greater(y, scalar_like(y, 0)), context.x(0), scalar_like(y, 0))};
}

std::vector<Val> expand_clip(ExpandContext& context) {
  const Val x = context.x(1);
  const Params p = bounds(context);
  const Val zero = scalar_like(x, 0);
  const Val kept = where(less(x, scalar_like(x, p.a)), zero, context.x(0));
  return {where(greater(x, scalar_like(x, p.b)), zero, kept)};
}

}  // namespace

extern const OpDef relu_gradient{.name = "ReluGrad",
                                 .domain = ondine_domain,
                                 .infer = infer_equal_inputs,
                                 .bind = bind<GradientRows<relu_gradients>>,
                                 .grad = grad_of_expansion,
                                 .expand = expand_relu,
                                 .traits = {.inplace = 1, .cheap = true, .cannot_fail = true},
                                 .rounded = {.reads = 0b11, .writes = true, .follows = true}};
extern const OpDef clip_gradient{.name = "ClipGrad",
                                 .domain = ondine_domain,
                                 .infer = infer_equal_inputs,
                                 .bind = bind<ClipRow>,
                                 .grad = grad_of_expansion,
                                 .expand = expand_clip,
                                 .traits = {.inplace = 1, .cheap = true, .cannot_fail = true},
                                 .rounded = {.reads = 0b11, .writes = true, .follows = true}};

}  // namespace ondine::kernels::ops
