// cum_sum.cpp — y_i = sum of x_j for j <= i along an axis (exclusive: j < i; reverse: from the
// end); dx = the same in the other direction. Version 14 adds the 16-bit floats.
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
      scan(call.pool(), view, reverse, sum_total<T>(0), [&](sum_total<T>& sum, std::int64_t at) {
        const sum_total<T> before = sum;
        sum += to_item(x[at]);
        y[at] = from_total<T>(exclusive ? before : sum);
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("CumSum", {g.dy(0), g.x(1)},
                           {{"exclusive", g.attr_int("exclusive", 0)},
                            {"reverse", std::int64_t{g.attr_int("reverse", 0) == 0}}})};
}

}  // namespace

extern const OpDef cum_sum{.name = "CumSum",
                           .infer = [](InferContext& c) { infer_along_axis(c, 1); },
                           .bind = bind,
                           .grad = grad,
                           .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
