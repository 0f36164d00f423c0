#include "kernels/quantize/requantize.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

DType exact_dtype(Dim terms) {
  const bool few = terms.known() && terms.size() <= 256;  // 256 * 255^2 < 2^24
  return few ? DType::float32 : DType::float64;
}

void check_product_parameter(const InferContext& context, std::size_t parameter, std::size_t matrix,
                             int axis, std::string_view what) {
  if (!context.has_input(parameter)) return;
  if (!context.ranked(parameter) || !context.ranked(matrix)) return;
  const Dims& dims = context.dims(parameter);
  const Dims& x = context.dims(matrix);
  if (dims.size() != 1 || dims[0].same(Dim(1)) || x.size() < 2) return;
  unify(dims[0], x.end()[axis], what);
}

void check_result_parameters(const InferContext& context, std::size_t scale) {
  for (const std::size_t i : {scale, scale + 1}) {
    if (!context.has_input(i) || !context.ranked(i)) continue;
    unify(product(context.dims(i)), 1,
          i == scale ? "elements of the scale of y" : "elements of the zero point of y");
  }
}

Val centred(Val x, Val zero_point, DType dtype) {
  const Val compute = cast(x, dtype);
  return zero_point ? compute - cast(zero_point, dtype) : compute;
}

Val requantize(Val sums, Val scale, Val y_scale, Val zero_point, math::Activation activation) {
  Builder& b = sums.builder();
  const DType compute = DType::float64;
  Val y = cast(sums, compute) * (cast(scale, compute) / cast(y_scale, compute));
  const DType result = zero_point.dtype();
  const Val shift = cast(zero_point, compute);
  if (is_float(result)) return cast(y + shift, result);
  y = unary("Round", y);
  if (activation != math::Activation::none) y = unary("Relu", y);
  if (activation == math::Activation::relu6) {
    y = minimum(y, unary("Round", scalar_like(y, 6) / cast(y_scale, compute)));
  }
  y = y + shift;
  const bool is_signed = is_signed_integer(result);
  y = b.node("Clip",
             {y, scalar_like(y, is_signed ? -128 : 0), scalar_like(y, is_signed ? 127 : 255)});
  return cast(y, result);
}

bool is_int8(const Val& x) { return !x || x.dtype() == DType::int8 || x.dtype() == DType::uint8; }

bool is_vector(const Val& x) { return !x || (x.ranked() && x.rank() <= 1); }

}  // namespace ondine::kernels
