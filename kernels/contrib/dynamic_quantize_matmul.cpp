// dynamic_quantize_matmul.cpp — com.microsoft DynamicQuantizeMatMul: y = a b + bias with a rounded
// to 8 bits by DynamicQuantizeLinear and b quantized, by one scale or one for each column.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/common/require_broadcast.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"
#include "kernels/matmul/matmul.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { a_in, b_in, scale_in, point_in, bias_in };

void infer(InferContext& context) {
  check_call(context, {.required = 0b111, .inputs = 5});
  require_floats(context, {a_in, scale_in, bias_in});
  require_quantized(context, b_in, scale_in, point_in);
  if (!context.ranked(a_in) || !context.ranked(b_in)) {
    return context.set_output(0, context.dtype(a_in), std::nullopt);
  }
  const Dims y = matmul_dims(context.dims(a_in), context.dims(b_in));
  require_broadcast(context, bias_in, y, "bias");
  context.set_output(0, context.dtype(a_in), y);
}

std::vector<Val> expand(ExpandContext& context) {
  const Val a = context.x(a_in);
  const auto rounded = context.builder().nodes("DynamicQuantizeLinear", {&a, 1}, {}, 3);
  const Val y =
      graph::matmul(dequantize(rounded[0], rounded[1], rounded[2]),
                    dequantize(context.x(b_in), context.x(scale_in), context.x(point_in)));
  return {with_dims_of(add_if(y, context.x(bias_in)), y, "dims with and without bias")};
}

}  // namespace

extern const OpDef dynamic_quantize_matmul{
    .name = "DynamicQuantizeMatMul", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
