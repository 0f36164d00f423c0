// matmul_integer.cpp — MatMulInteger: y = (a - za) (b - zb) in int32; QLinearMatMul: the same
// product times a_scale b_scale / y_scale, rounded to even, plus the zero point of y, saturated.
// Zero points and scales are one for all, or one for each row of a and column of b; those of y are
// one. Version 21 of QLinearMatMul adds float8 and 16-bit scales. Expansions, into Int8MatMul where
// the parameters are those of rows and columns; no derivatives.
#include "kernels/common/op.h"
#include "kernels/matmul/matmul.h"
#include "kernels/quantize/requantize.h"

namespace ondine::kernels::ops {
namespace {

void infer_product(InferContext& context, std::size_t b, DType result) {
  if (!context.ranked(0) || !context.ranked(b)) {
    return context.set_output(0, result, std::nullopt);
  }
  context.set_output(0, result, matmul_dims(context.dims(0), context.dims(b)));
}

void infer_integer(InferContext& context) {
  check_product_parameter(context, 2, 0, -2, "rows of A and of its zero point");
  check_product_parameter(context, 3, 1, -1, "columns of B and of its zero point");
  infer_product(context, 1, DType::int32);
}

void infer_quantized(InferContext& context) {
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    check_product_parameter(context, i, 0, -2, "rows of a and of its scale and zero point");
  }
  for (const std::size_t i : {std::size_t{4}, std::size_t{5}}) {
    check_product_parameter(context, i, 3, -1, "columns of b and of its scale and zero point");
  }
  check_result_parameters(context, 6);
  infer_product(context, 3, context.dtype(7));
}

// A vector over the rows of a matrix as a column.
Val over_rows(Val p) {
  if (!p) return p;
  if (!p.ranked()) {
    fail(ErrorCode::unsupported,
         "a product of integers needs known ranks of scales and zero points");
  }
  if (p.rank() != 1 || p.dims()[0].same(Dim(1))) return p;
  return graph::unsqueeze(p, {1});
}

std::vector<Val> expand_integer(ExpandContext& context) {
  const Val a = context.x(0);
  if (is_vector(context.x(2)) && is_vector(context.x(3))) {
    return {context.builder().node("Int8MatMul", {a, context.x(2), context.x(1), context.x(3)}, {},
                                   ondine_domain)};
  }
  const DType compute = exact_dtype(a.ranked() && a.rank() > 0 ? a.dims().back() : Dim());
  const Val y = graph::matmul(centred(a, over_rows(context.x(2)), compute),
                              centred(context.x(1), context.x(3), compute));
  return {graph::cast(y, DType::int32)};
}

std::vector<Val> expand_quantized(ExpandContext& context) {
  const auto x = [&](std::size_t i) { return context.x(i); };
  if (is_int8(x(0)) && is_int8(x(3)) && is_int8(x(7)) && is_vector(x(1)) && is_vector(x(2)) &&
      is_vector(x(4)) && is_vector(x(5))) {
    return {context.builder().node(
        "Int8MatMul", {x(0), x(2), x(3), x(5), Val(), x(1), x(4), x(6), x(7)}, {}, ondine_domain)};
  }
  const DType compute = DType::float64;
  const Val y = graph::matmul(centred(context.x(0), over_rows(context.x(2)), compute),
                              centred(context.x(3), context.x(5), compute));
  const Val scale =
      graph::cast(over_rows(context.x(1)), compute) * graph::cast(context.x(4), compute);
  return {requantize(y, scale, context.x(6), context.x(7))};
}

}  // namespace

extern const OpDef matmul_integer{.name = "MatMulInteger",
                                  .infer = infer_integer,
                                  .expand = expand_integer,
                                  .no_gradient = any_input};
extern const OpDef qlinear_matmul{.name = "QLinearMatMul",
                                  .infer = infer_quantized,
                                  .expand = expand_quantized,
                                  .no_gradient = any_input};

}  // namespace ondine::kernels::ops
