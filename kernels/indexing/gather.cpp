// gather.cpp — y = the slices of x along an axis that `indices` names;  dx = zeros with the slices
// of dy added at their indices (GatherGrad). Negative indices from version 11.
#include "kernels/common/index_input.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  if (!context.ranked(0) || !context.ranked(1)) {
    return context.set_output(0, context.dtype(0), std::nullopt);
  }
  const Dims& x = context.dims(0);
  const Dims& indices = context.dims(1);
  const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", 0), x.size());
  Dims y(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis));
  y.insert(y.end(), indices.begin(), indices.end());
  y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end());
  const bool small = y.size() <= 1 && x.size() == 1;
  context.set_output(0, context.dtype(0), std::move(y));
  if (!small || context.dtype(0) != DType::int64) return;
  const auto known = context.known_dims(0);
  if (!known) return;
  const auto chosen = context.known_ints(1);
  if (!chosen) return;
  Dims elements;
  const auto n = static_cast<std::int64_t>(known->size());
  for (const std::int64_t i : *chosen) {
    elements.push_back((*known)[static_cast<std::size_t>(checked_index(i, n))]);
  }
  context.set_known_dims(0, elements);
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const AxisView view(x, NodeView::normalize_axis(context.attr_int("axis", 0), x.rank()));
  const IndexInput indices(context, 1);
  const std::int64_t n = indices.count();
  const std::int64_t grain =
      std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(1, view.inner));
  return visit_size(context.dtype(0), [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const std::int64_t* index = indices.read(call, view.dim);
      const T* from = call.in<T>(0);
      T* to = call.out<T>(0);
      call.pool().for_chunks(view.outer * n, grain, [&](std::int64_t first, std::int64_t last) {
        for (auto row = first; row < last; ++row) {
          const std::int64_t source = row / n * view.dim + index[row % n];
          std::copy_n(from + source * view.inner, view.inner, to + row * view.inner);
        }
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("GatherGrad", {g.dy(0), g.x(1), shape_of(g.x(0))},
                           {{"axis", g.attr_int("axis", 0)}}, ondine_domain)};
}

}  // namespace

extern const OpDef gather_op{.name = "Gather",
                             .infer = infer,
                             .bind = bind,
                             .grad = grad,
                             .traits = {.cheap = true},
                             .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
