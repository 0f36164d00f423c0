#include "kernels/quantize/requantize.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

DType exact_dtype(Dim terms) {
  const bool few = terms.known() && terms.size() <= 256;  // 256 * 255^2 < 2^24
  return few ? DType::float32 : DType::float64;
}

Val centred(Val x, Val zero_point, DType dtype) {
  const Val compute = cast(x, dtype);
  return zero_point ? compute - cast(zero_point, dtype) : compute;
}

Val requantize(Val sums, Val scale, Val y_scale, Val zero_point) {
  Builder& b = sums.builder();
  const DType compute = DType::float64;
  Val y = cast(sums, compute) * (cast(scale, compute) / cast(y_scale, compute));
  const DType result = zero_point.dtype();
  const Val shift = cast(zero_point, compute);
  if (is_float(result)) return cast(y + shift, result);
  y = unary("Round", y) + shift;
  const bool is_signed = is_signed_integer(result);
  y = b.node("Clip",
             {y, scalar_like(y, is_signed ? -128 : 0), scalar_like(y, is_signed ? 127 : 255)});
  return cast(y, result);
}

}  // namespace ondine::kernels
