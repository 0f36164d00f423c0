// matmul_integer_to_float.cpp — com.microsoft MatMulIntegerToFloat: the float product of quantized
// a and b, plus a bias; b has one scale, or one for each column.
#include "kernels/common/expansion.h"
#include "kernels/common/op.h"
#include "kernels/common/require_broadcast.h"
#include "kernels/contrib/contrib.h"
#include "kernels/contrib/quantized.h"
#include "kernels/matmul/matmul.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t { a_in, b_in, a_scale_in, b_scale_in, a_point_in, b_point_in, bias_in };

void infer(InferContext& context) {
  check_call(context, {.required = 0b1111, .inputs = 7});
  require_floats(context, {a_scale_in, b_scale_in, bias_in});
  require_quantized(context, a_in, a_scale_in, a_point_in);
  require_quantized(context, b_in, b_scale_in, b_point_in);
  if (!context.ranked(a_in) || !context.ranked(b_in)) {
    return context.set_output(0, context.dtype(a_scale_in), std::nullopt);
  }
  const Dims y = matmul_dims(context.dims(a_in), context.dims(b_in));
  require_broadcast(context, bias_in, y, "bias");
  context.set_output(0, context.dtype(a_scale_in), y);
}

std::vector<Val> expand(ExpandContext& context) {
  const Val y =
      graph::matmul(dequantize(context.x(a_in), context.x(a_scale_in), context.x(a_point_in)),
                    dequantize(context.x(b_in), context.x(b_scale_in), context.x(b_point_in)));
  return {with_dims_of(add_if(y, context.x(bias_in)), y, "dims with and without bias")};
}

}  // namespace

extern const OpDef matmul_integer_to_float{
    .name = "MatMulIntegerToFloat", .domain = contrib_domain, .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
