// cum_prod.cpp — y_i = product of x_j for j <= i along an axis (exclusive: j < i; reverse: from the
// end). dx_k = (product of x_j, j < k) (sum over i >= k of dy_i (product of x_j, k < j <= i)): the
// sum is a linear recurrence, so nothing is divided and zeros are no exception.
#include "kernels/ops/axis_input.h"
#include "kernels/ops/op.h"
#include "kernels/ops/reduce_node.h"
#include "kernels/ops/reducers.h"
#include "kernels/ops/scan.h"

namespace ondine::kernels::ops {
namespace {

Kernel bind(BindContext& context) {
  const bool exclusive = context.attr_int("exclusive", 0) != 0;
  const bool reverse = context.attr_int("reverse", 0) != 0;
  const Shape shape = context.shape(0);
  const Ints axis(context, 1);
  return visit(context.dtype(0), ReducedTypes{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const AxisView view(shape, axis_from(axis.read(call), shape.rank()));
      const T* x = call.in<T>(0);
      T* y = call.out<T>(0);
      scan(call.pool(), view, reverse, sum_total<T>(1),
           [&](sum_total<T>& product, std::int64_t at) {
             const sum_total<T> before = product;
             product *= to_item(x[at]);
             y[at] = from_total<T>(exclusive ? before : product);
           });
    };
  });
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
