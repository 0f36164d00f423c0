// qlinear_activation.cpp — com.microsoft QLinearSigmoid and QLinearLeakyRelu: the activation of a
// quantized operand, quantized.
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { x_in, x_scale_in, x_point_in, y_scale_in, y_point_in };

void infer(InferContext& context) {
  require_quantized(context, x_in, x_scale_in, x_point_in);
  require_quantized(context, x_in, y_scale_in, y_point_in);
  infer_same_as_input(context);
}

void infer_sigmoid(InferContext& context) {
  check_call(context, {.required = 0b1011, .inputs = 5});
  infer(context);
}

void infer_leaky_relu(InferContext& context) {
  check_call(context, {.required = 0b1011, .inputs = 5, .attributes = {"alpha"}});
  infer(context);
}

std::vector<Val> expand(ExpandContext& context, std::string_view activation) {
  const Val x = dequantize(context.x(x_in), context.x(x_scale_in), context.x(x_point_in));
  const Val y = context.builder().node(activation, {x}, pick_attributes(context, {"alpha"}));
  return {quantize(y, context.x(y_scale_in), context.x(y_point_in), context.x(x_in).dtype())};
}

std::vector<Val> expand_sigmoid(ExpandContext& context) { return expand(context, "Sigmoid"); }
std::vector<Val> expand_leaky_relu(ExpandContext& context) { return expand(context, "LeakyRelu"); }

}  // namespace

extern const OpDef qlinear_sigmoid{.name = "QLinearSigmoid",
                                   .domain = contrib_domain,
                                   .infer = infer_sigmoid,
                                   .expand = expand_sigmoid};
extern const OpDef qlinear_leaky_relu{.name = "QLinearLeakyRelu",
                                      .domain = contrib_domain,
                                      .infer = infer_leaky_relu,
                                      .expand = expand_leaky_relu};

}  // namespace ondine::kernels::ops
