// qlinear_conv.cpp — QLinearConv: the convolution of x - zx and w - zw plus B, times x_scale
// w_scale / y_scale, rounded to even, plus the zero point of y, saturated. An expansion into Conv;
// no derivative.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/conv/integer_conv.h"
#include "kernels/quantize/requantize.h"

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
  const Val y =
      integer_conv(context, context.x(0), context.x(2), context.x(3), context.x(5), context.x(8));
  const DType compute = DType::float64;
  const Val by_channel = over_channels(context.x(4), context.x(3).rank() - 2);
  const Val scale = graph::cast(context.x(1), compute) * graph::cast(by_channel, compute);
  return {requantize(y, scale, context.x(6), context.x(7))};
}

}  // namespace

extern const OpDef qlinear_conv{
    .name = "QLinearConv", .infer = infer, .expand = expand, .no_gradient = any_input};

}  // namespace ondine::kernels::ops
