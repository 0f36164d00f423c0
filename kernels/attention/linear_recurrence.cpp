// linear_recurrence.cpp — ai.ondine LinearRecurrence(a, b, axis): y_0 = 0, y_{i+1} = b_i + a_i y_i
// along an axis (reverse: from the end). With e the recurrence of dy in the other direction:
// db = e, da = y e.
#include "kernels/common/axis_input.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/op.h"
#include "kernels/reduce/axis_scan.h"

namespace ondine::kernels::ops {
namespace {

Kernel bind(BindContext& context) {
  const bool reverse = context.attr_int("reverse", 0) != 0;
  const Shape shape = context.shape(0);
  if (!(context.shape(1) == shape)) {
    fail(ErrorCode::mismatch, "a and b differ in shape: ", shape, " and ", context.shape(1));
  }
  const IntegerParameter axis(context, 2);
  return visit(context.dtype(0), Floats{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const AxisView view(shape, axis_from(axis.read(call), shape.rank()));
      const T* a = call.in<T>(0);
      const T* b = call.in<T>(1);
      T* y = call.out<T>(0);
      scan(call.pool(), view, reverse, 0.0, [&](double& value, std::int64_t at) {
        y[at] = store<T>(static_cast<compute_t<T>>(value));
        value = static_cast<double>(load(b[at])) + static_cast<double>(load(a[at])) * value;
      });
    };
  });
}

std::vector<Val> grad(GradContext& g) {
  const std::int64_t reverse = g.attr_int("reverse", 0) != 0;
  const Val e = g.builder().node("LinearRecurrence", {g.x(0), g.dy(0), g.x(2)},
                                 {{"reverse", 1 - reverse}}, ondine_domain);
  return {g.wants(0) ? g.y(0) * e : Val(), e};
}

}  // namespace

extern const OpDef linear_recurrence{.name = "LinearRecurrence",
                                     .domain = ondine_domain,
                                     .infer = [](InferContext& c) { infer_along_axis(c, 2); },
                                     .bind = bind,
                                     .grad = grad,
                                     .no_gradient = 0b100};

}  // namespace ondine::kernels::ops
