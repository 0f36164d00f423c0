// average_pool.cpp — y[o] = mean of the window o of x; with count_include_pad the padding counts as
// zeros. Version 7 added count_include_pad, 10 ceil_mode, 19 dilations, 22 bfloat16.
// In ai.ondine: SumPool, the sum instead of the mean, and AveragePoolGrad and SumPoolGrad, their
// adjoints, of (dy, shape of x). All are linear: each pair is the other's derivative.
#include <algorithm>

#include "kernels/common/compute_type.h"
#include "kernels/common/op.h"
#include "kernels/pool/pool.h"

namespace ondine::kernels::ops {
namespace {

// to = from times the number of elements in each window.
template <class C>
void scale_by_counts(const math::PoolShape& s, const WindowCounts& counts, const C* from, C* to) {
  for (std::int64_t p = 0; p < s.planes; ++p) {
    for (const auto d : counts.axes[0]) {
      for (const auto h : counts.axes[1]) {
        for (const auto w : counts.axes[2]) *to++ = *from++ * static_cast<C>(d * h * w);
      }
    }
  }
}

template <bool sum>
Kernel bind(BindContext& context) {
  const bool padding = !sum && context.attr_int("count_include_pad", 0) != 0;
  const math::PoolShape shape = pool_shape(context, context.shape(0), padding);
  const std::int64_t size = context.output_shape(0)->size();
  context.set_implementation(math::average_pool_name(shape), math::isa_name(math::kernels()));
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    Scratch scratch;
    const ComputeIn<C> x(context, scratch, 0);
    const ComputeOut<C> y(context, scratch, 0, size);
    scratch.request(context);
    return [=, counts = WindowCounts(shape)](KernelContext& call) {
      if (size == 0) return;
      C* to = y.data(call);
      math::average_pool<C>(call.pool(), shape, x(call), to);
      if (sum) scale_by_counts<C>(shape, counts, to, to);
      y.store(call);
    };
  });
}

template <bool sum>
Kernel bind_grad(BindContext& context) {
  const Shape x = *context.output_shape(0);
  const bool padding = !sum && context.attr_int("count_include_pad", 0) != 0;
  const math::PoolShape shape = pool_shape(context, x, padding);
  const std::int64_t size = context.shape(0).size();
  context.set_implementation(math::average_pool_name(shape), math::isa_name(math::kernels()));
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    Scratch scratch;
    const ComputeIn<C> dy(context, scratch, 0);
    const ComputeOut<C> dx(context, scratch, 0, x.size());
    const std::size_t scaled = sum ? scratch.add<C>(size) : 0;
    scratch.request(context);
    return [=, counts = WindowCounts(shape)](KernelContext& call) {
      C* to = dx.data(call);
      const C* from = dy(call);
      if (size == 0) {
        std::fill_n(to, x.size(), C{0});
        return dx.store(call);
      }
      if (sum) {
        C* times = Scratch::at<C>(call, scaled);
        scale_by_counts<C>(shape, counts, from, times);
        from = times;
      }
      math::average_pool_gradient<C>(call.pool(), shape, from, to);
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
