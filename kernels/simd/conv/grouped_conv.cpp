#include "kernels/simd/conv/grouped_parts.h"

namespace ondine::math::ONDINE_ISA {
namespace {

struct Products {
  static constexpr N cell = grouped::L;
  static ONDINE_MEMBER Vec<float> add(const Vec<float>& acc, const Vec<float>& a,
                                      const Vec<float>& b) {
    return acc + a * b;
  }
};

void interleave_image(const CellRows& rows, const N* planes, const float* x, const float*,
                      float* cells) {
  grouped::interleave(rows, planes, x, cells);
}

}  // namespace

constinit const GroupedConvKernels<float> grouped_conv_f32 = {grouped::L,
                                                              1,
                                                              Products::cell,
                                                              &grouped::interleave,
                                                              &grouped::interleave,
                                                              &interleave_image,
                                                              nullptr,
                                                              &grouped::deinterleave,
                                                              &grouped::positions<Products>,
                                                              &grouped::taps<Products>};

}  // namespace ondine::math::ONDINE_ISA
