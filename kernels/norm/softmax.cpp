// softmax.cpp — y = exp x / sum exp x along an axis, LogSoftmax its logarithm. The derivative reads
// y: dx = y (dy - sum dy y), and dx = dy - exp y sum dy. Before version 13 the sums run over all
// axes from `axis` (default 1) on, since then over `axis` (default -1) alone.
// SoftmaxGrad, LogSoftmaxGrad (ai.ondine): these derivatives, of (dy, y). That of Softmax is 0
// where all of dy is 0, even if y is NaN: exporters select 0 in the place of rows without any
// score.
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/norm/softmax_primitive.h"

namespace ondine::kernels::ops {
namespace {

// The axes that a Softmax-like node sums over: one, or, before version 13 and with the attribute
// `flatten`, all from `axis` on.
struct SoftmaxAxes {
  std::size_t first = 0;
  std::size_t last = 0;  // one past
};

SoftmaxAxes softmax_axes(const NodeView& node, std::size_t rank) {
  const bool flatten = node.version() < 13 || node.attr_int("flatten", 0) != 0;
  const std::int64_t otherwise = node.version() < 13 ? 1 : -1;
  const auto axis = NodeView::normalize_axis(node.attr_int("axis", otherwise), rank);
  return {axis, flatten ? rank : axis + 1};
}

math::SoftmaxDesc softmax_desc(const NodeView& node, const Shape& x, bool logarithm,
                               bool backward) {
  const SoftmaxAxes axes = softmax_axes(node, x.rank());
  return {x.size(0, axes.first), x.size(axes.first, axes.last), x.size(axes.last, x.rank()),
          logarithm, backward};
}

void infer(InferContext& context) {
  if (context.ranked(0)) softmax_axes(context, context.rank(0));
  context.set_output(0, context.input(0));
}

void infer_grad(InferContext& context) {
  const Type& dy = context.input(0);
  const Type& y = context.input(1);
  if (!compatible(dy, y)) {
    context.reject("dy is ", graph::to_string(dy), " but y is ", graph::to_string(y));
  }
  context.set_output(0, merge(dy, y));
  if (context.ranked(0)) softmax_axes(context, context.rank(0));
}

template <bool logarithm>
Kernel bind(BindContext& context) {
  const Shape shape = context.shape(0);
  const math::SoftmaxDesc desc = softmax_desc(context, shape, logarithm, false);
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    const math::SoftmaxPrimitive<C> softmax(desc);
    context.set_implementation(softmax.name(), softmax.isa());
    Scratch scratch;
    const ComputeIn<C> x(context, scratch, 0);
    const ComputeOut<C> y(context, scratch, 0, shape.size());
    scratch.request(context);
    return [=](KernelContext& call) {
      softmax.run(call.pool(), {.x = x(call), .result = y.data(call)});
      y.store(call);
    };
  });
}

template <bool logarithm>
Kernel bind_grad(BindContext& context) {
  const Shape shape = context.shape(0);
  math::SoftmaxDesc desc = softmax_desc(context, shape, logarithm, true);
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    desc.y_stored = storage_of<C>(context, 1, math::SoftmaxPrimitive<C>::takes_bf16(desc));
    const math::SoftmaxPrimitive<C> softmax(desc);
    context.set_implementation(softmax.name(), softmax.isa());
    Scratch scratch;
    const ComputeIn<C> dy(context, scratch, 0);
    const StoredIn<C> y(context, scratch, 1, desc.y_stored == math::Storage::bf16);
    const ComputeOut<C> dx(context, scratch, 0, shape.size());
    scratch.request(context);
    return [=](KernelContext& call) {
      softmax.run(call.pool(), {.dy = dy(call), .y = y(call), .result = dx.data(call)});
      dx.store(call);
    };
  });
}

template <bool logarithm>
std::vector<Val> grad(GradContext& g) {
  const bool old = g.version() < 13;
  return {g.builder().node(
      logarithm ? "LogSoftmaxGrad" : "SoftmaxGrad", {g.dy(0), g.y(0)},
      {{"axis", g.attr_int("axis", old ? 1 : -1)}, {"flatten", std::int64_t{old}}}, ondine_domain)};
}

template <bool logarithm>
std::vector<Val> expand_grad(ExpandContext& context) {
  const Val dy = context.x(0);
  Val y = context.x(1);
  std::vector<std::int64_t> axes{context.attr_int("axis", -1)};
  if (context.attr_int("flatten", 0) != 0) {
    const auto [first, last] = softmax_axes(context, y.rank());
    axes.clear();
    for (std::size_t i = first; i < last; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (logarithm) return {dy - unary("Exp", y) * graph::reduce_sum(dy, axes, true)};
  // Scores of minus infinity alone have y = NaN; where nothing depends on them, neither does dx.
  const Val zero = graph::scalar_like(dy, 0);
  const Val unused = graph::equal(graph::reduce_sum(unary("Abs", dy), axes, true), zero);
  y = graph::where(graph::logical_and(unary("IsNaN", y), unused), zero, y);
  return {y * (dy - graph::reduce_sum(dy * y, axes, true))};
}

}  // namespace

extern const OpDef softmax_op{.name = "Softmax",
                              .infer = infer,
                              .bind = bind<false>,
                              .grad = grad<false>,
                              .traits = {.inplace = 1}};
extern const OpDef log_softmax{.name = "LogSoftmax",
                               .infer = infer,
                               .bind = bind<true>,
                               .grad = grad<true>,
                               .traits = {.inplace = 1}};
extern const OpDef softmax_grad{.name = "SoftmaxGrad",
                                .domain = ondine_domain,
                                .infer = infer_grad,
                                .bind = bind_grad<false>,
                                .grad = grad_of_expansion,
                                .expand = expand_grad<false>,
                                .traits = {.inplace = 1},
                                .rounded = {.reads = 0b10}};
extern const OpDef log_softmax_grad{.name = "LogSoftmaxGrad",
                                    .domain = ondine_domain,
                                    .infer = infer_grad,
                                    .bind = bind_grad<true>,
                                    .grad = grad_of_expansion,
                                    .expand = expand_grad<true>,
                                    .traits = {.inplace = 1}};

}  // namespace ondine::kernels::ops
