// average_pool.cpp — y[o] = mean of the window o of x; with count_include_pad the padding counts as
// zeros. Version 7 added count_include_pad, 10 ceil_mode, 19 dilations, 22 bfloat16.
// In ai.ondine: SumPool, the sum instead of the mean, and AveragePoolGrad and SumPoolGrad, their
// adjoints, of (dy, shape of x). All are linear: each pair is the other's derivative.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/common/window/window_nodes.h"
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

// Every plane as a sample of one channel, and a kernel of ones.
Val as_planes(Val x, std::size_t axes) {
  std::vector<std::int64_t> shape(axes + 2);
  shape[0] = -1;
  shape[1] = 1;
  return graph::reshape(x, shape);
}
Val ones(Val like, std::span<const std::int64_t> kernel) {
  std::vector<std::int64_t> shape{1, 1};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  return graph::expand(graph::scalar_like(like, 1), like.builder().int64s(shape));
}

// Sums over the windows of x.
Val window_sums(Val x, const PaddedWindow& window, std::span<const std::int64_t> kernel) {
  const Val sums = conv_node(as_planes(x, kernel.size()), ones(x, kernel), window, 1);
  const Val parts[] = {graph::slice(graph::shape_of(x), 0, 2, 0),
                       spatial_sizes(graph::shape_of(sums))};
  return graph::reshape(sums, graph::concat(parts, 0));
}

std::vector<Val> expand_sum(ExpandContext& context) {
  const Val x = context.x(0);
  const auto kernel = kernel_shape(context);
  const Dims in = spatial_part(x.type(), kernel.size());
  return {window_sums(x, resolved_window(context, kernel, in, graph::shape_of(x)), kernel)};
}

// The number of elements that the windows of one plane hold: the sums of ones in a plane of the
// spatial sizes `in`. Padding counts up to the pads, not what ceil_mode adds to them.
Val window_counts(ExpandContext& context, DType dtype, std::span<const std::int64_t> kernel,
                  const PaddedWindow& window, Val in) {
  Builder& b = context.builder();
  const std::size_t axes = kernel.size();
  const Val one = b.scalar(1, dtype);
  const Val parts[] = {b.int64s({1, 1}), in};
  Val plane = graph::expand(one, graph::concat(parts, 0));
  PaddedWindow outer = window;
  if (context.attr_int("count_include_pad", 0) != 0) {
    const Window given = read_window(context, kernel);
    Val end = end_of(window, b);
    outer.begin = b.int64s(std::vector<std::int64_t>(axes));
    outer.end = outer.begin;
    if (given.auto_pad == AutoPad::notset) {
      std::vector<std::int64_t> pads;
      for (const WindowAxis& axis : given.axes) pads.push_back(axis.end);
      const Val counted = b.int64s(pads);
      outer.end = end - counted;
      end = counted;
    }
    plane = pad_spatial(plane, axes, begin_of(window, b), end, 1);
    for (WindowAxis& axis : outer.window.axes) axis.begin = axis.end = 0;
  }
  return conv_node(plane, ones(one, kernel), outer, 1);
}

template <bool sum>
std::vector<Val> expand_grad(ExpandContext& context) {
  Val dy = context.x(0);
  const Val shape = context.x(1);
  const auto kernel = kernel_shape(context);
  const Dims in = spatial_part(result_type(context), kernel.size());
  const PaddedWindow window = resolved_window(context, kernel, in, shape);
  if (!sum) dy = dy / window_counts(context, dy.dtype(), kernel, window, spatial_sizes(shape));
  const Val dx =
      adjoint_conv_node(as_planes(dy, kernel.size()), ones(dy, kernel), window, 1, shape, in);
  return {graph::reshape(dx, shape)};
}

}  // namespace

extern const OpDef average_pool{.name = "AveragePool",
                                .infer = infer_pool,
                                .bind = bind<false>,
                                .grad = grad<false>,
                                .traits = {.per_sample = 1}};
extern const OpDef average_pool_grad{.name = "AveragePoolGrad",
                                     .domain = ondine_domain,
                                     .infer = infer_pool_gradient,
                                     .bind = bind_grad<false>,
                                     .grad = grad_of_grad<false>,
                                     .expand = expand_grad<false>};
extern const OpDef sum_pool{.name = "SumPool",
                            .domain = ondine_domain,
                            .infer = infer_pool,
                            .bind = bind<true>,
                            .grad = grad<true>,
                            .expand = expand_sum};
extern const OpDef sum_pool_grad{.name = "SumPoolGrad",
                                 .domain = ondine_domain,
                                 .infer = infer_pool_gradient,
                                 .bind = bind_grad<true>,
                                 .grad = grad_of_grad<true>,
                                 .expand = expand_grad<true>};

}  // namespace ondine::kernels::ops
