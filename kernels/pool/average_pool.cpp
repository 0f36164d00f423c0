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
Val window_sums(Val x, const Window& window, std::span<const std::int64_t> kernel) {
  const Val sums = conv_node(as_planes(x, kernel.size()), ones(x, kernel), window, 1);
  const Val parts[] = {graph::slice(graph::shape_of(x), 0, 2, 0),
                       graph::slice(graph::shape_of(sums), 2, INT64_MAX, 0)};
  return graph::reshape(sums, graph::concat(parts, 0));
}

std::vector<Val> expand_sum(ExpandContext& context) {
  const Val x = context.x(0);
  const auto kernel = kernel_shape(context);
  const Dims in = spatial_part(x.type(), kernel.size());
  return {window_sums(x, resolved_window(context, kernel, in), kernel)};
}

// The number of elements that the windows of one plane hold. Padding counts up to the pads.
Val window_counts(ExpandContext& context, Val dy, std::span<const std::int64_t> kernel,
                  const Dims& in) {
  Builder& b = context.builder();
  const bool padding_counts = context.attr_int("count_include_pad", 0) != 0;
  Window given = read_window(context, kernel);
  Val counts = b.scalar(1, dy.dtype());
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (!in[i].known()) {
      fail(ErrorCode::unsupported, "the derivative of AveragePool needs known spatial dims");
    }
    WindowAxis& axis = given.axes[i];
    const std::int64_t out = resolve(axis, in[i].size(), given.auto_pad, given.ceil);
    const std::int64_t first = padding_counts ? -axis.begin : 0;
    const std::int64_t last = in[i].size() + (padding_counts ? axis.end : 0);
    std::vector<float> along(static_cast<std::size_t>(out));
    for (std::int64_t o = 0; o < out; ++o) {
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t at = o * axis.stride - axis.begin + k * axis.dilation;
        if (at >= first && at < last) ++along[static_cast<std::size_t>(o)];
      }
    }
    Shape shape{out};
    for (std::size_t k = i + 1; k < kernel.size(); ++k) shape.push_back(1);
    counts = counts * graph::cast(b.constant(Tensor::of<float>(shape, along)), dy.dtype());
  }
  return counts;
}

template <bool sum>
std::vector<Val> expand_grad(ExpandContext& context) {
  Val dy = context.x(0);
  const Val shape = context.x(1);
  const auto kernel = kernel_shape(context);
  const Dims in = spatial_part(result_type(context), kernel.size());
  if (!sum) dy = dy / window_counts(context, dy, kernel, in);
  const Val dx = adjoint_conv_node(as_planes(dy, kernel.size()), ones(dy, kernel),
                                   resolved_window(context, kernel, in), 1, shape, in);
  return {graph::reshape(dx, shape)};
}

}  // namespace

extern const OpDef average_pool{
    .name = "AveragePool", .infer = infer_pool, .bind = bind<false>, .grad = grad<false>};
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
