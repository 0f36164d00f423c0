// fused_conv.cpp — com.microsoft FusedConv: an activation of the standard's Conv plus Z.
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/fused_activation.h"
#include "kernels/conv/operators/conv_operator.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  check_call(context, {.required = 0b11,
                       .inputs = 4,
                       .attributes = {"auto_pad", "dilations", "group", "kernel_shape", "pads",
                                      "strides", "activation", "activation_params"}});
  require_floats(context, {0, 1, 2, 3});
  check_activation(context.attr_string("activation", ""), context.attr_floats("activation_params"));
  infer_conv(context);
}

std::vector<Val> expand(ExpandContext& context) {
  const Val y = context.builder().node(
      "Conv", {context.x(0), context.x(1), context.x(2)},
      pick_attributes(context,
                      {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  return {activation(add_if(y, context.x(3)), context.attr_string("activation", ""),
                     context.attr_floats("activation_params"))};
}

}  // namespace

extern const OpDef fused_conv{
    .name = "FusedConv", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
