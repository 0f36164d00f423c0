#include "tests/kernels/conv/guarded_conv.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

// Windows of two vectors begin anywhere in a plane.
TEST_CASE("joined columns read nothing beyond the last plane") {
  const SimdTables* const kernels = simd_tables_for(Isa::avx512);
  if (kernels == nullptr) return;
  for (const Index size : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const ConvShape s = shape2(17, 21, 18, 1, size, size, 3, 3, 1, 1, 1, 1);
    const ConvCase<float> c(s);
    for (const auto direction : {ConvDirection::forward, ConvDirection::backward_weights}) {
      check_guarded(c, {s, direction}, "joined_columns", Guard::after, *kernels);
    }
  }
}
