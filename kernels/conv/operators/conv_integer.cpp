// conv_integer.cpp — ConvInteger: the convolution of x - zx and w - zw in int32. An expansion into
// Int8Conv; no derivative.
#include "kernels/common/op.h"
#include "kernels/conv/operators/integer_conv.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const Dim channels = context.ranked(1) && context.rank(1) > 0 ? context.dims(1)[0] : Dim();
  check_conv_parameter(context, 2, 1, "the zero point of x");
  check_conv_parameter(context, 3, channels, "the zero point of w");
  infer_integer_conv(context, 1, DType::int32);
}

std::vector<Val> expand(ExpandContext& context) {
  return {context.builder().node("Int8Conv",
                                 {context.x(0), context.x(2), context.x(1), context.x(3)},
                                 context.node().attributes, ondine_domain)};
}

}  // namespace

extern const OpDef conv_integer{
    .name = "ConvInteger", .infer = infer, .expand = expand, .no_gradient = any_input};

}  // namespace ondine::kernels::ops
