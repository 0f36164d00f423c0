#include "kernels/contrib/quantized.h"

#include "graph/contract/ops.h"
#include "kernels/contrib/contrib.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

// A vector of one element as a scalar.
Val as_scalar(Val x) {
  const bool single = x && x.ranked() && x.rank() == 1 && x.dims()[0].same(1);
  return single ? reshape(x, std::vector<std::int64_t>{}) : x;
}

}  // namespace

Val dequantize(Val x, Val scale, Val zero_point) {
  return x.builder().node("DequantizeLinear", {x, as_scalar(scale), as_scalar(zero_point)},
                          {{"axis", std::int64_t{-1}}});
}

Val quantize(Val x, Val scale, Val zero_point, DType dtype) {
  return x.builder().node(
      "QuantizeLinear", {x, as_scalar(scale), as_scalar(zero_point)},
      {{"axis", std::int64_t{-1}}, {"output_dtype", static_cast<std::int64_t>(dtype)}});
}

Val unpacked(Val x, std::int64_t bits) {
  Builder& b = x.builder();
  const auto byte = [&](std::int64_t value) {
    return b.constant(Tensor::scalar(static_cast<std::uint8_t>(value)));
  };
  const auto last = static_cast<std::int64_t>(x.rank());
  if (bits == 8) return unsqueeze(x, {last});
  std::vector<Val> parts;
  for (std::int64_t shift = 0; shift < 8; shift += bits) {
    const Val moved =
        shift == 0 ? x
                   : b.node("BitShift", {x, byte(shift)}, {{"direction", std::string("RIGHT")}});
    parts.push_back(unsqueeze(b.node("BitwiseAnd", {moved, byte((1 << bits) - 1)}), {last}));
  }
  return concat(parts, last);
}

void require_quantized(const InferContext& context, std::size_t x, std::size_t scale,
                       std::size_t zero_point) {
  require_bytes(context, x);
  require_floats(context, {scale});
  if (context.has_input(zero_point) && context.dtype(zero_point) != context.dtype(x)) {
    context.reject("input ", x, " is ", context.dtype(x), ", its zero point ",
                   context.dtype(zero_point));
  }
}

}  // namespace ondine::kernels
