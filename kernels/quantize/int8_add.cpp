// Int8Add (ai.ondine): (a, scale of a, zero point of a, b, scale of b, zero point of b, scale of y,
// zero point of y) -> the sum of a and b, quantized: QuantizeLinear of the sum of their
// DequantizeLinear, with its bits, and with the activation that `activation` names (Relu, Relu6)
// before. Equal shapes, one scale each; zero points may be omitted, but that of y. No derivative.
#include <algorithm>
#include <cmath>

#include "kernels/common/grain.h"
#include "kernels/common/op.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/quantize/int8_operands.h"
#include "kernels/simd/tables.h"

namespace ondine::kernels::ops {
namespace {

enum Input : std::size_t {
  a_in,
  a_scale_in,
  a_zero_in,
  b_in,
  b_scale_in,
  b_zero_in,
  scale_in,
  zero_in
};

void infer(InferContext& context) {
  for (const std::size_t i : {a_scale_in, b_scale_in, scale_in}) {
    if (context.dtype(i) != DType::float32) context.reject("scales must be float32");
  }
  std::optional<Dims> dims = context.input(a_in).dims;
  if (!dims) dims = context.input(b_in).dims;
  if (context.ranked(a_in) && context.ranked(b_in)) {
    const Dims& b = context.dims(b_in);
    if (b.size() != dims->size()) context.reject("a and b differ in rank");
    for (std::size_t i = 0; i < b.size(); ++i) (*dims)[i] = unify((*dims)[i], b[i], "a and b");
  }
  context.set_output(0, context.dtype(zero_in), dims);
}

// A zero point of the elements as they are.
float zero_point(KernelContext& call, std::size_t input, bool given, DType dtype) {
  if (!given) return 0;
  return dtype == DType::int8 ? static_cast<float>(call.in<std::int8_t>(input)[0])
                              : static_cast<float>(call.in<std::uint8_t>(input)[0]);
}

Kernel bind(BindContext& context) {
  const math::Kernels& kernels = math::kernels();
  context.set_implementation("quantized_rows", isa_name(kernels));
  const std::int64_t size = context.output_shape(0)->size();
  const DType a = context.dtype(a_in);
  const DType b = context.dtype(b_in);
  const DType y = context.dtype(zero_in);
  const bool a_given = context.has_input(a_zero_in);
  const bool b_given = context.has_input(b_zero_in);
  const math::Activation activation = fused_activation(context);
  return [=, add = kernels.quantize->add](KernelContext& call) {
    const float zero = zero_point(call, zero_in, true, y);
    const float scale = call.in<float>(scale_in)[0];
    math::QuantizedSum sum{};
    sum.flip_a = flip_to_unsigned(a);
    sum.flip_b = flip_to_unsigned(b);
    sum.scale_a = call.in<float>(a_scale_in)[0];
    sum.scale_b = call.in<float>(b_scale_in)[0];
    sum.zero_point_a = zero_point(call, a_zero_in, a_given, a) + static_cast<float>(sum.flip_a);
    sum.zero_point_b = zero_point(call, b_zero_in, b_given, b) + static_cast<float>(sum.flip_b);
    sum.scale = scale;
    sum.zero_point = static_cast<std::int32_t>(zero);
    sum.lowest = (y == DType::int8 ? -128.0F : 0.0F) - zero;
    sum.highest = (y == DType::int8 ? 127.0F : 255.0F) - zero;
    if (activation != math::Activation::none) sum.lowest = std::max(sum.lowest, 0.0F);
    if (activation == math::Activation::relu6) {
      sum.highest = std::min(sum.highest, std::nearbyint(6.0F / scale));
    }
    call.pool().for_chunks(
        size, math::elementwise_grain, [&](std::int64_t first, std::int64_t last) {
          add(call.out<std::uint8_t>(0) + first, call.in<std::uint8_t>(a_in) + first,
              call.in<std::uint8_t>(b_in) + first, sum, last - first);
        });
  };
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const auto dequantized = [&](std::size_t first) {
    return b.node("DequantizeLinear",
                  {context.x(first), context.x(first + 1), context.x(first + 2)});
  };
  Val sum = dequantized(a_in) + dequantized(b_in);
  const math::Activation activation = fused_activation(context);
  if (activation != math::Activation::none) sum = graph::unary("Relu", sum);
  if (activation == math::Activation::relu6) sum = graph::minimum(sum, graph::scalar_like(sum, 6));
  return {b.node("QuantizeLinear", {sum, context.x(scale_in), context.x(zero_in)})};
}

}  // namespace

extern const OpDef int8_add{.name = "Int8Add",
                            .domain = ondine_domain,
                            .infer = infer,
                            .bind = bind,
                            .expand = expand,
                            .no_gradient = any_input};

}  // namespace ondine::kernels::ops
