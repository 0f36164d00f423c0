// sum_to.cpp — ai.ondine SumTo(x, shape): x summed over the axes along which `shape` would be
// broadcast to x's shape, the adjoint of Expand;  dx = Expand(dy, x's shape).
#include <algorithm>

#include "kernels/common/expansion.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/reduce/reduce_node.h"
#include "kernels/reduce/reducers.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  context.set_output(0, context.dtype(0), dims_from_input(context, 1));
}

std::vector<bool> broadcast_axes(const Shape& x, const Shape& target) {
  if (target.rank() > x.rank()) {
    fail(ErrorCode::mismatch, "shape ", target, " does not broadcast to ", x);
  }
  const std::size_t lead = x.rank() - target.rank();
  std::vector<bool> summed(x.rank(), true);
  for (std::size_t a = lead; a < x.rank(); ++a) {
    summed[a] = target[a - lead] == 1;
    if (!summed[a] && target[a - lead] != x[a]) {
      fail(ErrorCode::mismatch, "shape ", target, " does not broadcast to ", x);
    }
  }
  return summed;
}

// bfloat16 that a plan stores in the place of float.
struct WidenedSum : SumRows<bfloat16> {
  static float finish(double total, std::int64_t) { return static_cast<float>(total); }
};

template <class T, class Y, class Reducer>
Kernel bind_sum(BindContext& context) {
  const Shape x = context.shape(0);
  const IntegerParameter given(context, 1);
  const Output output(context, 0);
  const auto run = [output](KernelContext& call, const Shape& y, const Reduction& reduction,
                            void* scratch) {
    reduction.reduce(call.pool(), call.in<T>(0), output.memory<Y>(call, y), Reducer(), scratch);
  };
  const std::optional<Shape> planned = context.output_shape(0);
  if (planned || given.known()) {
    const Shape y = planned ? *planned : Shape(given.values());
    const Reduction reduction(x, broadcast_axes(x, y));
    Scratch scratch;
    scratch.add<double>(reduction.partials());
    scratch.request(context);
    return [=](KernelContext& call) { run(call, y, reduction, call.workspace<void>()); };
  }
  return [=](KernelContext& call) {
    const Shape y(given.read(call));
    const Reduction reduction(x, broadcast_axes(x, y));
    std::vector<double> scratch(static_cast<std::size_t>(reduction.partials()));
    run(call, y, reduction, scratch.data());
  };
}

Kernel bind(BindContext& context) {
  if (context.dtype(0) == DType::bfloat16 && context.output_dtype(0) == DType::float32) {
    return bind_sum<bfloat16, float, WidenedSum>(context);
  }
  return visit(context.dtype(0), ReducedTypes{},
               [&]<class T>() { return bind_sum<T, T, SumRows<T>>(context); });
}

std::vector<Val> grad(GradContext& g) { return {expand_like(g.dy(0), g.x(0))}; }

// The axes to sum over where the dims tell all of them.
std::optional<std::vector<std::int64_t>> summed_axes(const Type& x, const Type& y) {
  if (!x.ranked() || !y.ranked()) return std::nullopt;
  const std::size_t lead = x.rank() - y.rank();
  std::vector<std::int64_t> axes;
  for (std::size_t a = 0; a < x.rank(); ++a) {
    const Dim to = a < lead ? Dim(1) : (*y.dims)[a - lead];
    if (a >= lead && to.same((*x.dims)[a])) continue;
    if (!to.known()) return std::nullopt;
    if (to.size() == 1) axes.push_back(static_cast<std::int64_t>(a));
  }
  return axes;
}

std::vector<Val> expand_sum(ExpandContext& context) {
  Builder& b = context.builder();
  const Val x = context.x(0);
  const Val shape = context.x(1);
  if (const auto axes = summed_axes(x.type(), result_type(context))) {
    const Val sum = axes->empty() ? x : reduce_sum(x, *axes, true);
    return {reshape(sum, shape)};
  }
  // The shape with ones before it, up to the rank of x; its ones are summed over.
  const Val missing = dim_of(shape_of(x), 0) - dim_of(shape, 0);
  const Val parts[] = {graph::expand(b.int64(1), missing), shape};
  const Val ones = equal(concat(parts, 0), b.int64(1));
  const Val axes = squeeze(unary("NonZero", ones), {0});
  const Val sum =
      b.node("ReduceSum", {x, axes},
             {{"keepdims", std::int64_t{1}}, {"noop_with_empty_axes", std::int64_t{1}}});
  return {reshape(sum, shape)};
}

}  // namespace

extern const OpDef sum_to_op{.name = "SumTo",
                             .domain = ondine_domain,
                             .infer = infer,
                             .bind = bind,
                             .grad = grad,
                             .expand = expand_sum,
                             .traits = {.cannot_fail = true},
                             .no_gradient = 0b10,
                             .rounded = {.reads = 0b1}};

}  // namespace ondine::kernels::ops
