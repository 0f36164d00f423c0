#include "kernels/quantize/int8_pair.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/common/grain.h"
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

bool is_one(Dim dim) { return dim.known() && dim.size() == 1; }

// A zero point of the elements as they are.
float zero_point(KernelContext& call, std::size_t input, bool given, DType dtype) {
  if (!given) return 0;
  return dtype == DType::int8 ? static_cast<float>(call.in<std::int8_t>(input)[0])
                              : static_cast<float>(call.in<std::uint8_t>(input)[0]);
}

// How many elements of a each element of b belongs to.
std::int64_t row_of(const Shape& a, const Shape& b) {
  std::int64_t row = 1;
  for (std::size_t i = a.rank(); i-- > 0 && b[i] == 1;) row *= a[i];
  return row;
}

// Rows of so many elements are looked up in the results for the 256 that there are.
constexpr std::int64_t least_looked_up = 512;

constexpr std::array<std::uint8_t, 256> all_elements() {
  std::array<std::uint8_t, 256> elements{};
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::uint8_t>(i);
  return elements;
}

// One row of a with its element of b.
void compute_row(const math::QuantizeKernels& kernels, math::QuantizeKernels::Pair compute,
                 std::uint8_t* y, const std::uint8_t* a, const std::uint8_t* b,
                 const math::QuantizedPair& by, std::int64_t row) {
  if (row < least_looked_up) return compute(y, a, b, by, row);
  static constexpr auto elements = all_elements();
  std::array<std::uint8_t, 256> table;
  compute(table.data(), elements.data(), b, by, elements.size());
  kernels.look_up(y, a, table.data(), row);
}

}  // namespace

void infer_int8_pair(InferContext& context) {
  for (const std::size_t i : {a_scale_in, b_scale_in, scale_in}) {
    if (context.dtype(i) != DType::float32) context.reject("scales must be float32");
  }
  std::optional<Dims> dims = context.input(a_in).dims;
  if (dims && context.ranked(b_in)) {
    const Dims& b = context.dims(b_in);
    if (b.size() != dims->size()) context.reject("a and b differ in rank");
    std::size_t equal = b.size();
    while (equal > 0 && is_one(b[equal - 1])) --equal;
    for (std::size_t i = 0; i < equal; ++i) (*dims)[i] = unify((*dims)[i], b[i], "a and b");
  }
  context.set_output(0, context.dtype(zero_in), dims);
}

Kernel bind_int8_pair(BindContext& context,
                      math::QuantizeKernels::Pair math::QuantizeKernels::*pair) {
  const math::SimdTables& kernels = math::simd_tables();
  context.set_implementation("quantized_rows", isa_name(kernels));
  const std::int64_t size = context.output_shape(0)->size();
  const std::int64_t row = row_of(context.shape(a_in), context.shape(b_in));
  const DType a = context.dtype(a_in);
  const DType b = context.dtype(b_in);
  const DType y = context.dtype(zero_in);
  const bool a_given = context.has_input(a_zero_in);
  const bool b_given = context.has_input(b_zero_in);
  const math::Activation activation = fused_activation(context);
  return [=, &table = *kernels.quantize](KernelContext& call) {
    const float zero = zero_point(call, zero_in, true, y);
    const float scale = call.in<float>(scale_in)[0];
    math::QuantizedPair by{};
    by.flip_a = flip_to_unsigned(a);
    by.flip_b = flip_to_unsigned(b);
    by.scale_a = call.in<float>(a_scale_in)[0];
    by.scale_b = call.in<float>(b_scale_in)[0];
    by.zero_point_a = zero_point(call, a_zero_in, a_given, a) + static_cast<float>(by.flip_a);
    by.zero_point_b = zero_point(call, b_zero_in, b_given, b) + static_cast<float>(by.flip_b);
    by.scale = scale;
    by.zero_point = static_cast<std::int32_t>(zero);
    by.lowest = (y == DType::int8 ? -128.0F : 0.0F) - zero;
    by.highest = (y == DType::int8 ? 127.0F : 255.0F) - zero;
    if (activation != math::Activation::none) by.lowest = std::max(by.lowest, 0.0F);
    if (activation == math::Activation::relu6) {
      by.highest = std::min(by.highest, std::nearbyint(6.0F / scale));
    }
    by.one_b = row > 1;
    // Whole rows where each has its own b.
    const std::int64_t units = row > 1 ? size / row : size;
    const std::int64_t grain =
        std::max<std::int64_t>(1, math::elementwise_grain / std::max<std::int64_t>(row, 1));
    call.pool().for_chunks(units, grain, [&](std::int64_t first, std::int64_t last) {
      auto* const to = call.out<std::uint8_t>(0);
      const auto* const from = call.in<std::uint8_t>(a_in);
      const auto* const other = call.in<std::uint8_t>(b_in);
      if (row == 1) {
        return (table.*pair)(to + first, from + first, other + first, by, last - first);
      }
      for (auto i = first; i < last; ++i) {
        compute_row(table, table.*pair, to + i * row, from + i * row, other + i, by, row);
      }
    });
  };
}

std::vector<Val> expand_int8_pair(ExpandContext& context, Val (*combine)(Val a, Val b)) {
  Builder& builder = context.builder();
  const auto dequantized = [&](std::size_t first) {
    return builder.node("DequantizeLinear",
                        {context.x(first), context.x(first + 1), context.x(first + 2)});
  };
  Val y = combine(dequantized(a_in), dequantized(b_in));
  const math::Activation activation = fused_activation(context);
  if (activation != math::Activation::none) y = graph::unary("Relu", y);
  if (activation == math::Activation::relu6) y = graph::minimum(y, graph::scalar_like(y, 6));
  return {builder.node("QuantizeLinear", {y, context.x(scale_in), context.x(zero_in)})};
}

}  // namespace ondine::kernels::ops
