// dynamic_quantize_linear.cpp — x quantized to uint8 by the scale and zero point that make its
// range, 0 included, fill 0 to 255; a scale of 1 where all x are 0. An expansion; y is that of
// QuantizeLinear.
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  if (!is_differentiable(context.dtype(0))) {
    context.reject("x is ", context.dtype(0), ", needed: float");
  }
  context.set_output(0, DType::uint8, context.input(0).dims);
  context.set_output(1, context.dtype(0), Dims{});
  context.set_output(2, DType::uint8, Dims{});
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val x = context.x(0);
  const Val zero = graph::scalar_like(x, 0);
  const Val least = b.node("ReduceMin", {x}, {{"keepdims", std::int64_t{0}}});
  const Val low = graph::minimum(least, zero);
  const Val high = graph::maximum(graph::reduce_max(x, {}, false), zero);
  const Val range = (high - low) / 255.0;
  const Val scale = graph::where(graph::equal(range, zero), graph::scalar_like(x, 1), range);
  const Val point =
      b.node("Clip", {unary("Round", -low / scale), zero, graph::scalar_like(x, 255)});
  const Val zero_point = graph::cast(point, DType::uint8);
  return {b.node("QuantizeLinear", {x, scale, zero_point}), scale, zero_point};
}

}  // namespace

extern const OpDef dynamic_quantize_linear{
    .name = "DynamicQuantizeLinear", .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
