// hardmax.cpp — y = 1 at the first greatest element along an axis, 0 elsewhere; piecewise constant,
// so its derivative is zero. Before version 13 all axes from `axis` (default 1) on are one.
#include "kernels/common/element_conversion.h"
#include "kernels/common/op.h"
#include "kernels/reduce/axis_scan.h"

namespace ondine::kernels::ops {
namespace {

AxisView view_of(const NodeView& node, const Shape& x) {
  if (node.version() >= 13) {
    return {x, NodeView::normalize_axis(node.attr_int("axis", -1), x.rank())};
  }
  const std::int64_t axis = node.attr_int("axis", 1);
  const auto rank = static_cast<std::int64_t>(x.rank());
  if (axis < -rank || axis > rank) {
    fail(ErrorCode::mismatch, "axis ", axis, " for rank ", rank);
  }
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return {Shape{x.size(0, at), x.size(at, x.rank())}, 1};
}

void infer(InferContext& context) {
  if (const auto shape = context.input(0).shape()) view_of(context, *shape);
  context.set_output(0, context.input(0));
}

Kernel bind(BindContext& context) {
  const AxisView view = view_of(context, context.shape(0));
  return visit(context.dtype(0), Floats{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const T* x = call.in<T>(0);
      T* y = call.out<T>(0);
      struct Best {
        compute_t<T> value;
        std::int64_t at;
      };
      scan(
          call.pool(), view, false, Best{0, -1},
          [&](Best& best, std::int64_t at) {
            y[at] = store<T>(0);
            if (best.at < 0 || beats<true>(load(x[at]), best.value)) best = {load(x[at]), at};
          },
          [&](const Best& best, std::int64_t) {
            if (best.at >= 0) y[best.at] = store<T>(1);
          });
    };
  });
}

}  // namespace

extern const OpDef hardmax{.name = "Hardmax", .infer = infer, .bind = bind, .no_gradient = 1};

}  // namespace ondine::kernels::ops
