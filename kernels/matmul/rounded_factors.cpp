#include "kernels/matmul/rounded_factors.h"

#include <optional>

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/product_kernels.h"

namespace ondine::kernels::ops {

namespace {

// Without factors of other types than float32 and bfloat16.
std::optional<MatmulBatches> float_product(const graph::BindContext& context, std::size_t first) {
  for (const std::size_t i : {first, first + 1}) {
    if (!may_round(context.dtype(i))) return std::nullopt;
  }
  const bool trans_a = context.attr_int("transA", 0) != 0;
  const bool trans_b = context.attr_int("transB", 0) != 0;
  return matmul_batches(context.shape(first), context.shape(first + 1), trans_a, trans_b);
}

}  // namespace

graph::RoundedInputs rounded_factors(const graph::BindContext& context, std::size_t first) {
  const auto product = float_product(context, first);
  const bool rounds = product && math::GemmPrimitive<float>::takes_bf16(
                                     product->shape, math::simd_tables(context.precision()));
  const std::uint32_t both = rounds ? 3U << first : 0;
  return {both, both};
}

graph::RoundedResult rounded_product(const graph::BindContext& context, std::size_t addend) {
  const auto product = float_product(context, 0);
  if (!product || !math::GemmPrimitive<float>::rounds_result(
                      product->shape, math::simd_tables(context.precision()))) {
    return graph::RoundedResult::never;
  }
  const bool is_sum = context.has_input(addend) &&
                      context.input_type(addend).shape() == context.output_type(0).shape();
  return is_sum ? graph::RoundedResult::where_rounded : graph::RoundedResult::where_read;
}

}  // namespace ondine::kernels::ops
