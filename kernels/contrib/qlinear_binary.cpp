// qlinear_binary.cpp — com.microsoft QLinearAdd and QLinearMul: sum and product of quantized
// operands that broadcast, quantized.
#include "kernels/common/op.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"

namespace ondine::kernels::ops {
namespace {

// Each operand is followed by its scale and zero point.
enum Input : std::size_t { a_in = 0, b_in = 3, y_scale_in = 6, y_point_in = 7 };

void infer(InferContext& context) {
  check_call(context, {.required = 0b1011011, .inputs = 8});
  require_quantized(context, a_in, a_in + 1, a_in + 2);
  require_quantized(context, b_in, b_in + 1, b_in + 2);
  if (context.dtype(a_in) != context.dtype(b_in)) context.reject("A and B differ in dtype");
  require_quantized(context, a_in, y_scale_in, y_point_in);
  std::optional<Dims> y;
  if (context.ranked(a_in) && context.ranked(b_in)) {
    y = broadcast(context.dims(a_in), context.dims(b_in));
  }
  context.set_output(0, context.dtype(a_in), y);
}

template <bool product>
std::vector<Val> expand(ExpandContext& context) {
  const Val a = dequantize(context.x(a_in), context.x(a_in + 1), context.x(a_in + 2));
  const Val b = dequantize(context.x(b_in), context.x(b_in + 1), context.x(b_in + 2));
  return {quantize(product ? a * b : a + b, context.x(y_scale_in), context.x(y_point_in),
                   context.x(a_in).dtype())};
}

}  // namespace

extern const OpDef qlinear_add{
    .name = "QLinearAdd", .domain = contrib_domain, .infer = infer, .expand = expand<false>};
extern const OpDef qlinear_mul{
    .name = "QLinearMul", .domain = contrib_domain, .infer = infer, .expand = expand<true>};

}  // namespace ondine::kernels::ops
