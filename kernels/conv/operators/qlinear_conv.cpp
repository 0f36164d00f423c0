// qlinear_conv.cpp — QLinearConv: the convolution of x - zx and w - zw plus B, times x_scale
// w_scale / y_scale, rounded to even, plus the zero point of y, saturated. An expansion into
// Int8Conv; no derivative.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/operators/integer_conv.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const Dim channels = context.ranked(3) && context.rank(3) > 0 ? context.dims(3)[0] : Dim();
  check_conv_parameter(context, 1, 1, "the scale of x");
  check_conv_parameter(context, 2, 1, "the zero point of x");
  check_conv_parameter(context, 4, channels, "the scale of w");
  check_conv_parameter(context, 5, channels, "the zero point of w");
  check_conv_parameter(context, 6, 1, "the scale of y");
  check_conv_parameter(context, 7, 1, "the zero point of y");
  if (context.has_input(8)) unify(dims_of_rank(context, 8, 1, "B")[0], channels, "output channels");
  infer_integer_conv(context, 3, context.dtype(7));
}

std::vector<Val> expand(ExpandContext& context) {
  const auto x = [&](std::size_t i) { return context.x(i); };
  return {context.builder().node("Int8Conv", {x(0), x(2), x(3), x(5), x(8), x(1), x(4), x(6), x(7)},
                                 context.node().attributes, ondine_domain)};
}

}  // namespace

extern const OpDef qlinear_conv{
    .name = "QLinearConv", .infer = infer, .expand = expand, .no_gradient = any_input};

}  // namespace ondine::kernels::ops
