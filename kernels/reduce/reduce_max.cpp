// reduce_max.cpp — y = greatest (ReduceMin: least) element of x over axes, over no elements -inf
// (+inf) or the lowest (highest) integer;  dx = dy / n where x = y, n the number of such elements.
// Axes are an attribute before version 18, then an input; 11 allows negative ones, 12 adds 8-bit
// integers, 20 bool.
#include "kernels/reduce/reduce_node.h"
#include "kernels/reduce/reducers.h"

namespace ondine::kernels::ops {
namespace {

using ExtremeTypes = Types<float, double, float16, bfloat16, std::int32_t, std::int64_t,
                           std::uint32_t, std::uint64_t, std::int8_t, std::uint8_t, bool>;

template <bool Greatest>
Kernel bind(BindContext& context) {
  return visit(context.dtype(0), ExtremeTypes{}, [&]<class T>() {
    return bind_reducer<T>(context, axes_input,
                           [](std::int64_t) { return ExtremeReducer<T, Greatest>(); });
  });
}

std::vector<Val> grad(GradContext& g) {
  const ReduceGrad reduce(g, axes_input);
  const Val x = g.x(0);
  const Val hit = equal(x, reduce.keep(g.y(0)));
  const Val count = reduce.again("ReduceSum", cast(hit, x.dtype()));
  return {where(hit, reduce.keep(g.dy(0)) / count, scalar_like(x, 0))};
}

void infer(InferContext& context) { infer_reduce(context, axes_input); }

}  // namespace

extern const OpDef reduce_max_op{
    .name = "ReduceMax", .infer = infer, .bind = bind<true>, .grad = grad, .no_gradient = 0b10};
extern const OpDef reduce_min{
    .name = "ReduceMin", .infer = infer, .bind = bind<false>, .grad = grad, .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
