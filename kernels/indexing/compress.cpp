// compress.cpp — y = the slices of x along an axis (without one: the elements of flat x) whose
// condition is true;  dx = zeros with dy's slices at those positions. Version 11 allows a negative
// axis.
#include <algorithm>

#include "core/stop.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/common/op.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  if (context.ranked(1) && context.rank(1) != 1) {
    context.reject("the condition has rank ", context.rank(1), ", not 1");
  }
  Dim chosen;
  if (const Tensor* condition = context.constant(1)) {
    const auto flags = condition->values<bool>();
    chosen = static_cast<std::int64_t>(std::count(flags.begin(), flags.end(), true));
  }
  if (!context.has_attr("axis")) return context.set_output(0, context.dtype(0), Dims{chosen});
  if (!context.ranked(0)) return context.set_output(0, context.dtype(0), std::nullopt);
  Dims dims = context.dims(0);
  dims[NodeView::normalize_axis(context.attr_int("axis", 0), dims.size())] = chosen;
  context.set_output(0, context.dtype(0), std::move(dims));
}

Kernel bind(BindContext& context) {
  const bool flat = !context.has_attr("axis");
  const Shape x = flat ? Shape{context.shape(0).size()} : context.shape(0);
  const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", 0), x.rank());
  const AxisView view(x, axis);
  const std::int64_t conditions = context.shape(1).size();
  if (conditions > view.dim) {
    fail(ErrorCode::mismatch, conditions, " conditions for an axis of size ", view.dim);
  }
  const Output output(context, 0);
  Scratch scratch;
  scratch.add<std::int64_t>(conditions);
  scratch.request(context);
  return visit_size(context.dtype(0), [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const bool* condition = call.in<bool>(1);
      auto* chosen = call.workspace<std::int64_t>();
      std::int64_t n = 0;
      constexpr std::int64_t block = 1 << 12;
      for (std::int64_t first = 0; first < conditions; first += block) {
        checkpoint(4 * block);  // pages of the workspace are new
        for (std::int64_t i = first; i < std::min(first + block, conditions); ++i) {
          if (condition[i]) chosen[n++] = i;
        }
      }
      Shape shape = x;
      shape[axis] = n;
      T* to = output.memory<T>(call, shape);
      const T* from = call.in<T>(0);
      for (std::int64_t row = 0; row < view.outer * n; ++row) {
        checkpoint(4 + view.inner);
        const std::int64_t source = row / n * view.dim + chosen[row % n];
        std::copy_n(from + source * view.inner, view.inner, to + row * view.inner);
      }
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  const Val positions = graph::reshape(unary("NonZero", g.x(1)), {-1});
  const Val x = g.x(0);
  if (g.has_attr("axis")) {
    return {g.builder().node("GatherGrad", {g.dy(0), positions, shape_of(x)},
                             {{"axis", g.attr_int("axis", 0)}}, ondine_domain)};
  }
  const Val flat = graph::reshape(graph::size_of(x), {1});
  const Val dx = g.builder().node("GatherGrad", {g.dy(0), positions, flat},
                                  {{"axis", std::int64_t{0}}}, ondine_domain);
  return {reshape_like(dx, x)};
}

}  // namespace

extern const OpDef compress{
    .name = "Compress", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
