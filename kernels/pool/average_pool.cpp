// average_pool.cpp — y[o] = mean of the window o of x; with count_include_pad the padding counts as
// zeros. Version 7 added count_include_pad, 10 ceil_mode, 19 dilations, 22 bfloat16.
// In ai.ondine: SumPool, the sum instead of the mean, and AveragePoolGrad and SumPoolGrad, their
// adjoints, of (dy, shape of x). All are linear: each pair is the other's derivative.
#include "kernels/common/compute_type.h"
#include "kernels/common/op.h"
#include "kernels/pool/pool.h"

namespace ondine::kernels::ops {
namespace {

template <bool sum>
math::PoolDesc pool_desc(const NodeView& node, const Shape& x, bool backward) {
  const bool padding_counts = !sum && node.attr_int("count_include_pad", 0) != 0;
  return {.shape = pool_shape(node, x, padding_counts),
          .kind = sum ? math::PoolKind::sum : math::PoolKind::average,
          .backward = backward};
}

template <bool sum>
Kernel bind(BindContext& context) {
  const math::PoolDesc desc = pool_desc<sum>(context, context.shape(0), false);
  const std::int64_t size = context.output_shape(0)->size();
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    const math::PoolPrimitive<C> pool(desc);
    context.set_implementation(pool.name(), pool.isa());
    Scratch scratch;
    const ComputeIn<C> x(context, scratch, 0);
    const ComputeOut<C> y(context, scratch, 0, size);
    scratch.request(context);
    return [=](KernelContext& call) {
      pool.run(call.pool(), {.x = x(call), .result = y.data(call)});
      y.store(call);
    };
  });
}

template <bool sum>
Kernel bind_grad(BindContext& context) {
  const Shape x = *context.output_shape(0);
  const math::PoolDesc desc = pool_desc<sum>(context, x, true);
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    const math::PoolPrimitive<C> pool(desc);
    context.set_implementation(pool.name(), pool.isa());
    Scratch scratch;
    const ComputeIn<C> dy(context, scratch, 0);
    const ComputeOut<C> dx(context, scratch, 0, x.size());
    scratch.request(context);
    return [=](KernelContext& call) {
      pool.run(call.pool(), {.dy = dy(call), .result = dx.data(call)});
      dx.store(call);
    };
  });
}

template <bool sum>
std::vector<Val> grad(GradContext& g) {
  return {g.builder().node(sum ? "SumPoolGrad" : "AveragePoolGrad",
                           {g.dy(0), graph::shape_of(g.x(0))}, g.node().attributes, ondine_domain)};
}

template <bool sum>
std::vector<Val> grad_of_grad(GradContext& g) {
  return {g.builder().node(sum ? "SumPool" : "AveragePool", {g.dy(0)}, g.node().attributes,
                           sum ? ondine_domain : std::string_view())};
}

}  // namespace

extern const OpDef average_pool{
    .name = "AveragePool", .infer = infer_pool, .bind = bind<false>, .grad = grad<false>};
extern const OpDef average_pool_grad{.name = "AveragePoolGrad",
                                     .domain = ondine_domain,
                                     .infer = infer_pool_gradient,
                                     .bind = bind_grad<false>,
                                     .grad = grad_of_grad<false>};
extern const OpDef sum_pool{.name = "SumPool",
                            .domain = ondine_domain,
                            .infer = infer_pool,
                            .bind = bind<true>,
                            .grad = grad<true>};
extern const OpDef sum_pool_grad{.name = "SumPoolGrad",
                                 .domain = ondine_domain,
                                 .infer = infer_pool_gradient,
                                 .bind = bind_grad<true>,
                                 .grad = grad_of_grad<true>};

}  // namespace ondine::kernels::ops
