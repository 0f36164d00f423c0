#include "kernels/conv/algorithms/algorithms.h"
#include "tests/kernels/conv/guarded_conv.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

// Strips begin before the first column of a plane and end beyond its last.
TEST_CASE("strips of depthwise convolutions read nothing before or beyond the planes") {
  struct Form {
    Index taps, stride;
  };
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    const Kernels* const kernels = kernels_for(isa);
    if (kernels == nullptr) continue;
    for (const auto [taps, stride] : {Form{3, 1}, Form{3, 2}, Form{5, 1}}) {
      for (const Index width : {1, 5, 6, 7, 8, 9, 10, 15, 16, 17, 18, 31, 32, 33, 49}) {
        const Index pad = taps / 2;
        const ConvShape s = shape2(2, 3, 3, 3, 5, width, taps, taps, stride, 1, pad, pad);
        const ConvCase<float> c(s);
        for (const auto direction : {ConvDirection::forward, ConvDirection::backward_data,
                                     ConvDirection::backward_weights}) {
          if (!supports_depthwise_strips<float>({s, direction}, *kernels)) continue;
          for (const auto guard : both_guards) {
            check_guarded(c, {s, direction}, "depthwise_strips", guard, *kernels);
          }
        }
      }
    }
  }
}
