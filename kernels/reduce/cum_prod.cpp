// cum_prod.cpp — y_i = product of x_j for j <= i along an axis (exclusive: j < i; reverse: from the
// end). dx_k = (product of x_j, j < k) (sum over i >= k of dy_i (product of x_j, k < j <= i)): the
// sum is a linear recurrence, so nothing is divided and zeros are no exception.
#include "kernels/common/axis_input.h"
#include "kernels/common/op.h"
#include "kernels/reduce/cumulative.h"

namespace ondine::kernels::ops {
namespace {

Kernel bind(BindContext& context) {
  return bind_running(context, 1, [](auto& total, auto item) { total *= item; });
}

std::vector<Val> grad(GradContext& g) {
  Builder& b = g.builder();
  const Val x = g.x(0);
  const Val dy = g.dy(0);
  const Val axis = g.x(1);
  const bool exclusive = g.attr_int("exclusive", 0) != 0;
  const std::int64_t reverse = g.attr_int("reverse", 0) != 0;
  const Val before =
      b.node("CumProd", {x, axis}, {{"exclusive", std::int64_t{1}}, {"reverse", reverse}});
  const Val behind = b.node("LinearRecurrence", {x, exclusive ? dy : x * dy, axis},
                            {{"reverse", 1 - reverse}}, ondine_domain);
  return {before * (exclusive ? behind : dy + behind)};
}

}  // namespace

extern const OpDef cum_prod{.name = "CumProd",
                            .infer = [](InferContext& c) { infer_along_axis(c, 1); },
                            .bind = bind,
                            .grad = grad,
                            .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
