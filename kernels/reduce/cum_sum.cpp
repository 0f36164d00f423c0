// cum_sum.cpp — y_i = sum of x_j for j <= i along an axis (exclusive: j < i; reverse: from the
// end); dx = the same in the other direction. Version 14 adds the 16-bit floats.
#include "kernels/common/axis_input.h"
#include "kernels/common/op.h"
#include "kernels/reduce/cumulative.h"

namespace ondine::kernels::ops {
namespace {

Kernel bind(BindContext& context) {
  return bind_running(context, 0, [](auto& total, auto item) { total += item; });
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("CumSum", {g.dy(0), g.x(1)},
                           {{"exclusive", g.attr_int("exclusive", 0)},
                            {"reverse", std::int64_t{g.attr_int("reverse", 0) == 0}}})};
}

}  // namespace

extern const OpDef cum_sum{.name = "CumSum",
                           .infer = [](InferContext& c) { infer_along_axis(c, 1); },
                           .bind = bind,
                           .grad = grad,
                           .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
