// Factors are pairs rounded to bfloat16: of channels, or for gradients by the weights of images.
#include "kernels/simd/conv/grouped_parts.h"
#include "kernels/simd/vector/pairs_bf16.h"

namespace ondine::math::ONDINE_ISA {
namespace {

struct Products {
  static constexpr N cell = grouped::L / 2;
  static ONDINE_MEMBER Vec<float> add(const Vec<float>& acc, const Vec<Pair>& a,
                                      const Vec<Pair>& b) {
    return add_pair_products(acc, a, b);
  }
};

ONDINE_INLINE void store_half(Pair* to, const Vec<Pair>& v, int which) {
  const __m512d all = reinterpret_cast<__m512d>(v);
  const __m256d part = which == 0 ? _mm512_maskz_extractf64x4_pd(0xf, all, 0)
                                  : _mm512_maskz_extractf64x4_pd(0xf, all, 1);
  __builtin_memcpy(to, &part, sizeof(part));
}

void interleave_factors(const CellRows& rows, const N* planes, const float* x, float* to) {
  constexpr int L = grouped::L;
  constexpr int half = L / 2;
  grouped::Cells cells(rows, 0);
  const N n = rows.rows * rows.width;
  for (N p = 0; p < n; p += L) {
    const N count = min(L, n - p);
    Vec<Pair> r[L] = {};
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) {
      r[i] = pair_lanes(grouped::load_plane(x + p, planes[2 * i], count),
                        grouped::load_plane(x + p, planes[2 * i + 1], count));
    }
    transpose<Pair, half / 2>(r);  // positions j and half + j in the halves of r[j]
#pragma GCC unroll 16
    for (int j = 0; j < L; ++j) {
      if (j < count) store_half(to + cells.next(), r[j % half], j / half);
    }
  }
}

void interleave_images(const CellRows& rows, const N* planes, const float* x, const float* next,
                       float* to) {
  constexpr int L = grouped::L;
  grouped::Cells cells(rows, 0);
  const N n = rows.rows * rows.width;
  for (N p = 0; p < n; p += L) {
    const N count = min(L, n - p);
    Vec<Pair> r[L];
#pragma GCC unroll 16
    for (int c = 0; c < L; ++c) {
      const Vec<float> odd = next ? grouped::load_plane(next + p, planes[c], count) : Vec<float>{};
      r[c] = pair_lanes(grouped::load_plane(x + p, planes[c], count), odd);
    }
    transpose<Pair>(r);
#pragma GCC unroll 16
    for (int j = 0; j < L; ++j) {
      if (j < count) store(to + cells.next(), r[j]);
    }
  }
}

void pair_weights(N inner, N taps, float* w) {
  constexpr int L = grouped::L;
  for (N c = 0; c < inner; c += 2) {
    for (N k = 0; k < taps; ++k) {
      const float* const even = w + (c * taps + k) * L;
      const Vec<float> odd = c + 1 < inner ? load(even + taps * L) : Vec<float>{};
      store(w + (c / 2 * taps + k) * L, pair_lanes(load(even), odd));
    }
  }
}

}  // namespace

constinit const GroupedConvKernels<float> grouped_conv_f32 = {grouped::L,
                                                              2,
                                                              Products::cell,
                                                              &grouped::interleave,
                                                              &interleave_factors,
                                                              &interleave_images,
                                                              &pair_weights,
                                                              &grouped::deinterleave,
                                                              &grouped::positions<Products>,
                                                              &grouped::taps<Products>};

}  // namespace ondine::math::ONDINE_ISA
