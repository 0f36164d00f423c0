// reduce_sum.cpp — y = sum of x over axes, 0 over no elements;  dx = dy broadcast. Axes are an
// attribute before version 13, then an input; 11 allows negative ones.
#include "kernels/reduce/reduce_node.h"
#include "kernels/reduce/reducers.h"

namespace ondine::kernels::ops {
namespace {

Kernel bind(BindContext& context) {
  return visit(context.dtype(0), ReducedTypes{}, [&]<class T>() {
    return bind_reducer<T>(context, sum_axes_input, [](std::int64_t) { return SumRows<T>(); });
  });
}

std::vector<Val> grad(GradContext& g) {
  const ReduceGrad reduce(g, sum_axes_input);
  return {expand_like(reduce.keep(g.dy(0)), g.x(0))};
}

}  // namespace

extern const OpDef reduce_sum_op{.name = "ReduceSum",
                                 .infer = [](InferContext& c) { infer_reduce(c, sum_axes_input); },
                                 .bind = bind,
                                 .grad = grad,
                                 .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
