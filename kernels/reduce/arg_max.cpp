// arg_max.cpp — the index of the greatest (ArgMin: least) element along an axis, the first of equal
// ones or, from version 12 with select_last_index, the last; NaN counts as the greatest (least). No
// derivative. Version 11 allows a negative axis.
#include "kernels/common/element_conversion.h"
#include "kernels/common/op.h"
#include "kernels/reduce/axis_scan.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const bool keepdims = context.attr_int("keepdims", 1) != 0;
  const std::int64_t given = context.attr_int("axis", 0);
  if (!context.ranked(0)) return context.set_output(0, DType::int64, std::nullopt);
  Dims dims = context.dims(0);
  const std::size_t axis = NodeView::normalize_axis(given, dims.size());
  dims[axis] = 1;
  if (!keepdims) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  context.set_output(0, DType::int64, std::move(dims));
}

template <bool Greatest>
Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", 0), x.rank());
  const AxisView view(x, axis);
  const bool last = context.attr_int("select_last_index", 0) != 0;
  if (view.dim == 0 && view.outer * view.inner > 0) {
    fail(ErrorCode::mismatch, "axis ", axis, " has no elements to choose from");
  }
  return visit(context.dtype(0), Numbers{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const T* values = call.in<T>(0);
      std::int64_t* y = call.out<std::int64_t>(0);
      struct Best {
        compute_t<T> value;
        std::int64_t step;
        std::int64_t index;
      };
      // `last`: walking backwards, the first of equals is the last one.
      scan(
          call.pool(), view, last, Best{compute_t<T>(0), 0, 0},
          [&](Best& best, std::int64_t at) {
            const auto value = load(values[at]);
            if (best.step == 0 || beats<Greatest>(value, best.value)) {
              best = {value, best.step, last ? view.dim - 1 - best.step : best.step};
            }
            ++best.step;
          },
          [&](const Best& best, std::int64_t line) { y[line] = best.index; });
    };
  });
}

}  // namespace

extern const OpDef arg_max{.name = "ArgMax", .infer = infer, .bind = bind<true>, .no_gradient = 1};
extern const OpDef arg_min{.name = "ArgMin", .infer = infer, .bind = bind<false>, .no_gradient = 1};

}  // namespace ondine::kernels::ops
