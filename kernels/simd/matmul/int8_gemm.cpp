// Products of 8-bit integers by pairs of 16 bits: two products and their sum fit 32 bits.
#include "kernels/simd/matmul/int8_micro.h"

namespace ondine::math::ONDINE_ISA {
namespace {

struct Pair {
  static constexpr std::int64_t terms = 2;

  ONDINE_INLINE std::int32_t of_a(const std::int8_t* a, std::int64_t count) {
    const std::int32_t high = count > 1 ? a[1] : 0;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(high) << 16 |
                                     (static_cast<std::uint32_t>(a[0]) & 0xffffU));
  }

  ONDINE_INLINE std::uint32_t of_b(const std::uint8_t* const* rows, std::int64_t j,
                                   std::uint8_t flip) {
    const auto at = [&](int p) __attribute__((always_inline)) {
      return static_cast<std::uint32_t>(static_cast<std::uint8_t>(rows[p][j] ^ flip));
    };
    return at(0) | at(1) << 16;
  }

  ONDINE_INLINE Lanes dot(const Lanes& acc, const Lanes& b, std::int32_t a) {
#if defined(__AVX512BW__)
    const Lanes products = reinterpret_cast<Lanes>(
        _mm512_madd_epi16(reinterpret_cast<__m512i>(b), _mm512_set1_epi32(a)));
#elif defined(__AVX2__)
    const Lanes products = reinterpret_cast<Lanes>(
        _mm256_madd_epi16(reinterpret_cast<__m256i>(b), _mm256_set1_epi32(a)));
#elif defined(__SSE2__)
    const Lanes products =
        reinterpret_cast<Lanes>(_mm_madd_epi16(reinterpret_cast<__m128i>(b), _mm_set1_epi32(a)));
#else
    const std::int32_t low = static_cast<std::int16_t>(a & 0xffff);
    const std::int32_t high = a >> 16;
    const Lanes products = (b & 0xffff) * low + (b >> 16) * high;
#endif
    return wrapping_sum(acc, products);
  }
};

using Bytes = std::uint8_t __attribute__((vector_size(int8_lanes)));

ONDINE_INLINE Lanes widen_bytes(const std::uint8_t* from, std::uint8_t flip) {
  Bytes bytes;
  __builtin_memcpy(&bytes, from, sizeof(bytes));
  return __builtin_convertvector(bytes ^ flip, Lanes);
}

template <int Vectors>
ONDINE_INLINE void taps_of(std::int32_t* c, const std::int32_t* a, const std::uint8_t* const* rows,
                           std::int64_t at, std::int64_t k, std::uint8_t flip) {
  Lanes acc[Vectors] = {};
  for (std::int64_t p = 0; p < k; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      acc[v] = wrapping_sum(acc[v], widen_bytes(rows[p] + at + v * int8_lanes, flip) * a[p]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) store(c + v * int8_lanes, acc[v]);
}

}  // namespace

std::int32_t sign_int8_row(std::int8_t* to, const std::uint8_t* from, std::int64_t n,
                           std::uint8_t flip) {
  std::uint32_t sum = 0;
  if (to == nullptr) {
    for (std::int64_t i = 0; i < n; ++i) {
      sum += static_cast<std::uint32_t>(static_cast<std::int8_t>(from[i] ^ flip));
    }
    return static_cast<std::int32_t>(sum);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const auto element = static_cast<std::int8_t>(from[i] ^ flip);
    to[i] = element;
    sum += static_cast<std::uint32_t>(element);
  }
  return static_cast<std::int32_t>(sum);
}

void int8_taps(std::int32_t* c, const std::int32_t* a, const std::uint8_t* const* rows,
               std::int64_t first, std::int64_t k, std::int64_t n, std::uint8_t flip) {
  constexpr std::int64_t wide = 4 * int8_lanes;
  std::int64_t j = 0;
  for (; j + wide <= n; j += wide) taps_of<4>(c + j, a, rows, first + j, k, flip);
  for (; j + int8_lanes <= n; j += int8_lanes) taps_of<1>(c + j, a, rows, first + j, k, flip);
  if (j < n && n >= int8_lanes) {  // once more some that are done
    j = n - int8_lanes;
    return taps_of<1>(c + j, a, rows, first + j, k, flip);
  }
  for (; j < n; ++j) {
    std::uint32_t sum = 0;
    for (std::int64_t p = 0; p < k; ++p) {
      sum +=
          static_cast<std::uint32_t>(a[p] * static_cast<std::uint8_t>(rows[p][first + j] ^ flip));
    }
    c[j] = static_cast<std::int32_t>(sum);
  }
}

void add_scaled_int32(std::int32_t* c, std::int32_t factor, const std::int32_t* x, std::int64_t n) {
  const auto f = static_cast<std::uint32_t>(factor);
  for (std::int64_t j = 0; j < n; ++j) {
    c[j] = static_cast<std::int32_t>(static_cast<std::uint32_t>(c[j]) +
                                     f * static_cast<std::uint32_t>(x[j]));
  }
}

void copy_strided_bytes(std::uint8_t* __restrict to, const std::uint8_t* __restrict from,
                        std::int64_t stride, std::int64_t n) {
  if (stride == 2) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[2 * i];
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
}

constinit const Int8GemmKernels int8_gemm = {"int8_pairs",
                                             ONDINE_ISA_NAME,
                                             int8_panel,
                                             Pair::terms,
                                             &run_int8<Pair>,
                                             &pack_int8_rows<Pair>,
                                             &pack_int8<Pair>,
                                             &pack_int8_windows<Pair>,
                                             &sign_int8_row,
                                             &int8_taps,
                                             nullptr,
                                             &add_scaled_int32,
                                             &copy_strided_bytes};

}  // namespace ondine::math::ONDINE_ISA
