// Products of 8-bit integers for processors with AVX512-VNNI: one instruction adds four products to
// each of 16 sums.
#include "kernels/simd/matmul/int8_micro.h"

namespace ondine::math::ONDINE_ISA {

void int8_depthwise(const Int8DepthwiseCall& call);

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

// Four rows of 64 bytes to the units of 64 columns, 16 in each vector.
ONDINE_INLINE void transpose_quads(const __m512i* rows, __m512i* units) {
  const auto bytes =
      [](const __m512i& a, const __m512i& b, bool high) __attribute__((always_inline)) {
    return high ? _mm512_maskz_unpackhi_epi8(~__mmask64{0}, a, b)
                : _mm512_maskz_unpacklo_epi8(~__mmask64{0}, a, b);
  };
  const auto words =
      [](const __m512i& a, const __m512i& b, bool high) __attribute__((always_inline)) {
    return high ? _mm512_maskz_unpackhi_epi16(~__mmask32{0}, a, b)
                : _mm512_maskz_unpacklo_epi16(~__mmask32{0}, a, b);
  };
  // Part L of q[i] has columns 16 L + 4 i and following.
  const __m512i low01 = bytes(rows[0], rows[1], false);
  const __m512i low23 = bytes(rows[2], rows[3], false);
  const __m512i high01 = bytes(rows[0], rows[1], true);
  const __m512i high23 = bytes(rows[2], rows[3], true);
  const __m512i q[4] = {words(low01, low23, false), words(low01, low23, true),
                        words(high01, high23, false), words(high01, high23, true)};
  constexpr __mmask16 all = 0xffff;
  const __m512i even01 = _mm512_maskz_shuffle_i32x4(all, q[0], q[1], 0x88);
  const __m512i even23 = _mm512_maskz_shuffle_i32x4(all, q[2], q[3], 0x88);
  const __m512i odd01 = _mm512_maskz_shuffle_i32x4(all, q[0], q[1], 0xdd);
  const __m512i odd23 = _mm512_maskz_shuffle_i32x4(all, q[2], q[3], 0xdd);
  units[0] = _mm512_maskz_shuffle_i32x4(all, even01, even23, 0x88);
  units[1] = _mm512_maskz_shuffle_i32x4(all, odd01, odd23, 0x88);
  units[2] = _mm512_maskz_shuffle_i32x4(all, even01, even23, 0xdd);
  units[3] = _mm512_maskz_shuffle_i32x4(all, odd01, odd23, 0xdd);
}

void pack_windows(std::byte* panels, const Int8Windows& w, std::int64_t positions) {
  static_assert(int8_block == 2 * int8_panel);
  const __m512i outside = _mm512_set1_epi8(static_cast<char>(w.outside));
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(w.flip));
  const std::int64_t groups = int8_divide_up(w.channels, Quad::terms);
  const std::int64_t panel_bytes = groups * w.taps * 4 * int8_panel;
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::uint8_t* planes[Quad::terms];
    for (std::int64_t i = 0; i < Quad::terms; ++i) {
      const std::int64_t channel = group * Quad::terms + i;
      planes[i] = w.planes + (channel < w.channels ? channel : 0) * w.plane_size;
    }
    for (std::int64_t tap = 0; tap < w.taps; ++tap, panels += 4 * int8_panel) {
      __m512i rows[Quad::terms] = {outside, outside, outside, outside};
      const std::int32_t* const list = w.lists + tap * w.list_step;
      const std::int64_t origin = w.tap_offsets[tap];
      for (std::int32_t s = list[0]; s < list[1]; ++s) {
        const __mmask64 mask = w.segments[s].mask;
        const std::int64_t at = w.segments[s].offset + origin;
#pragma GCC unroll 4
        for (int i = 0; i < Quad::terms; ++i) {
          rows[i] = _mm512_mask_loadu_epi8(rows[i], mask, planes[i] + at);
        }
      }
#pragma GCC unroll 4
      for (int i = 0; i < Quad::terms; ++i) rows[i] ^= flip;
      __m512i units[4];
      transpose_quads(rows, units);
      _mm512_storeu_si512(panels, units[0]);
      _mm512_storeu_si512(panels + 64, units[1]);
      if (positions <= int8_panel) continue;
      _mm512_storeu_si512(panels + panel_bytes, units[2]);
      _mm512_storeu_si512(panels + panel_bytes + 64, units[3]);
    }
  }
}

}  // namespace

constinit const Int8GemmKernels int8_gemm = {"int8_vnni",
                                             "avx512_vnni",
                                             int8_panel,
                                             Quad::terms,
                                             &run_int8<Quad>,
                                             &pack_int8_rows<Quad>,
                                             &pack_int8<Quad>,
                                             &pack_windows,
                                             &avx512::sign_int8_row,
                                             &avx512::int8_taps,
                                             &int8_depthwise,
                                             &avx512::add_scaled_int32,
                                             &avx512::copy_strided_bytes};

}  // namespace ondine::math::ONDINE_ISA
