// Products of 8-bit integers for processors with AVX512-VNNI: one instruction adds four products to
// each of 16 sums.
#include "kernels/simd/matmul/int8_micro.h"

namespace ondine::math::avx512 {
std::int32_t sign_int8_row(std::int8_t* to, const std::uint8_t* from, std::int64_t n,
                           std::uint8_t flip);
void int8_taps(std::int32_t* c, const std::int32_t* a, const std::uint8_t* const* rows,
               std::int64_t first, std::int64_t k, std::int64_t n, std::uint8_t flip);
void add_scaled_int32(std::int32_t* c, std::int32_t factor, const std::int32_t* x, std::int64_t n);
void copy_strided_bytes(std::uint8_t* to, const std::uint8_t* from, std::int64_t stride,
                        std::int64_t n);
}  // namespace ondine::math::avx512

namespace ondine::math::ONDINE_ISA {
namespace {

struct Quad {
  static constexpr std::int64_t terms = 4;

  ONDINE_INLINE std::int32_t of_a(const std::int8_t* a, std::int64_t count) {
    std::int32_t unit = 0;
    if (count == terms) {
      __builtin_memcpy(&unit, a, terms);
    } else {
      for (std::int64_t p = 0; p < count; ++p) {
        unit |= static_cast<std::int32_t>(static_cast<std::uint8_t>(a[p])) << (8 * p);
      }
    }
    return unit;
  }

  ONDINE_INLINE std::uint32_t of_b(const std::uint8_t* const* rows, std::int64_t j,
                                   std::uint8_t flip) {
    const auto at = [&](int p) __attribute__((always_inline)) {
      return static_cast<std::uint32_t>(static_cast<std::uint8_t>(rows[p][j] ^ flip));
    };
    return at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24;
  }

  ONDINE_INLINE Lanes dot(const Lanes& acc, const Lanes& b, std::int32_t a) {
    return reinterpret_cast<Lanes>(_mm512_dpbusd_epi32(
        reinterpret_cast<__m512i>(acc), reinterpret_cast<__m512i>(b), _mm512_set1_epi32(a)));
  }
};

}  // namespace

constinit const Int8GemmKernels int8_gemm = {"int8_vnni",
                                             "avx512_vnni",
                                             int8_panel,
                                             Quad::terms,
                                             &run_int8<Quad>,
                                             &pack_int8_rows<Quad>,
                                             &pack_int8<Quad>,
                                             &avx512::sign_int8_row,
                                             &avx512::int8_taps,
                                             &avx512::add_scaled_int32,
                                             &avx512::copy_strided_bytes};

}  // namespace ondine::math::ONDINE_ISA
