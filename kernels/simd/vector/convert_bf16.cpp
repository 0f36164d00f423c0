// Rounding to bfloat16 by the instruction of AVX512-BF16, which counts denormal numbers as zeros:
// vectors that have some are rounded as on other processors.
#include "kernels/simd/isa_tables.h"
#include "kernels/simd/vector/convert_table.h"
#include "kernels/simd/vector/pairs_bf16.h"

namespace ondine::math::ONDINE_FULL_ISA {
extern const ConvertKernels convert_kernels;
}

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr int L = lanes<float>;

#define ONDINE_LAMBDA __attribute__((always_inline))

ONDINE_INLINE bool has_denormal(const Vec<float>& x) {
  constexpr int denormal = 0x20;  // of VFPCLASSPS
  return _mm512_fpclass_ps_mask(reinterpret_cast<__m512>(x), denormal) != 0;
}

void float_to_bfloat16(std::uint16_t* dst, const float* src, std::int64_t n) {
  const auto slow = ONDINE_FULL_ISA::convert_kernels.float_to_bfloat16;
  const auto round = [&](const Vec<float>& low, const Vec<float>& high, std::int64_t i,
                         std::int64_t count) ONDINE_LAMBDA {
    if (has_denormal(low) || has_denormal(high)) [[unlikely]] {
      return slow(dst + i, src + i, count);
    }
    const auto rounded = reinterpret_cast<__m512i>(join_pairs(low, high));
    if (count == 2 * L) return _mm512_storeu_si512(dst + i, rounded);
    _mm512_mask_storeu_epi16(dst + i, (__mmask32{1} << count) - 1U, rounded);
  };
  std::int64_t i = 0;
  for (; i + 2 * L <= n; i += 2 * L) round(load(src + i), load(src + i + L), i, 2 * L);
  if (i + L < n) {
    round(load(src + i), load_n(src + i + L, n - i - L), i, n - i);
  } else if (i < n) {
    round(load_n(src + i, n - i), Vec<float>{}, i, n - i);
  }
}

}  // namespace

void round_by_instruction(ConvertKernels& table) noexcept {
  table.float_to_bfloat16 = &float_to_bfloat16;
}

}  // namespace ondine::math::ONDINE_ISA
