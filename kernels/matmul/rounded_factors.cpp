#include "kernels/matmul/rounded_factors.h"

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/product_kernels.h"

namespace ondine::kernels::ops {

std::uint32_t rounded_factors(const graph::BindContext& context, std::size_t first) {
  for (const std::size_t i : {first, first + 1}) {
    const DType dtype = context.dtype(i);
    if (dtype != DType::float32 && dtype != DType::bfloat16) return 0;
  }
  const bool trans_a = context.attr_int("transA", 0) != 0;
  const bool trans_b = context.attr_int("transB", 0) != 0;
  const math::GemmShape shape =
      matmul_batches(context.shape(first), context.shape(first + 1), trans_a, trans_b).shape;
  const bool rounds =
      math::GemmPrimitive<float>::takes_rounded(shape, math::kernels(context.precision()));
  return rounds ? 3U << first : 0;
}

}  // namespace ondine::kernels::ops
