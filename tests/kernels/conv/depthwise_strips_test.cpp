#include "tests/kernels/conv/guarded_conv.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

// Strips begin before the first column of a plane and end behind its last.
TEST_CASE("strips of depthwise convolutions read nothing before or behind the planes") {
  const Kernels* const kernels = kernels_for(Isa::avx512);
  if (kernels == nullptr) return;
  struct Form {
    Index taps, stride;
  };
  for (const auto [taps, stride] : {Form{3, 1}, Form{3, 2}, Form{5, 1}}) {
    for (const Index width : {1, 7, 8, 15, 16, 17, 31, 32, 33, 49}) {
      if (taps == 5 && width < 8) continue;
      const Index pad = taps / 2;
      const ConvShape s = shape2(2, 3, 3, 3, 5, width, taps, taps, stride, 1, pad, pad);
      const ConvCase<float> c(s);
      for (const auto guard : both_guards) {
        for (const auto direction : {ConvDirection::forward, ConvDirection::backward_weights}) {
          const bool any_direction = taps == 3 && stride == 1;
          if (!any_direction && direction != ConvDirection::forward) continue;
          check_guarded(c, {s, direction}, "depthwise_strips", guard, *kernels);
        }
      }
    }
  }
}
