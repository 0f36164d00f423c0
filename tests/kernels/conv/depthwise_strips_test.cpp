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
    const SimdTables* const kernels = simd_tables_for(isa);
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

TEST_CASE("strips convolve bands of rows of a plane, which windows leave by half at most") {
  struct Form {
    Index taps, stride, pad, pad_end;
  };
  std::size_t tried = 0;
  for (const SimdTables* const kernels : all_kernels()) {
    for (const auto [taps, stride, pad, pad_end] :
         {Form{3, 1, 0, 0}, Form{3, 1, 1, 0}, Form{3, 1, 0, 1}, Form{5, 1, 0, 0}, Form{5, 1, 1, 2},
          Form{5, 1, 2, 0}, Form{3, 2, 0, 0}, Form{3, 2, 0, 1}, Form{3, 2, 1, 0}}) {
      for (const Index height : {5, 8, 9}) {
        ConvShape s = shape2(2, 3, 3, 3, height, 21, taps, taps, stride, 1, taps / 2, taps / 2);
        s.pad[1] = pad;
        s.out[1] = (height + pad + pad_end - taps) / stride + 1;
        CAPTURE(taps, stride, pad, pad_end, height);
        const ConvDesc desc{.shape = s, .activation = Activation::relu};
        if (!supports_depthwise_strips<float>(desc, *kernels)) continue;
        ++tried;
        check_implementation(ConvCase<float>(s), desc, "depthwise_strips", true, *kernels);
      }
    }
  }
  if (simd_tables_for(Isa::avx2) != nullptr) CHECK(tried >= 23);
}

TEST_CASE("strips leave other paddings of rows to other implementations") {
  const SimdTables* const kernels = simd_tables_for(Isa::avx2);
  if (kernels == nullptr) return;
  const auto supported = [&](Index stride, Index pad, Index out, ConvDirection direction) {
    ConvShape s = shape2(2, 3, 3, 3, 9, 21, 3, 3, stride, 1, 1, 1);
    s.pad[1] = pad;
    s.out[1] = out;
    return supports_depthwise_strips<float>({.shape = s, .direction = direction}, *kernels);
  };
  using enum ConvDirection;
  CHECK(supported(1, 1, 9, forward));
  CHECK(supported(1, 0, 7, forward));
  CHECK_FALSE(supported(1, 2, 9, forward));
  CHECK_FALSE(supported(1, 1, 10, forward));
  CHECK_FALSE(supported(1, 0, 7, backward_data));
  CHECK_FALSE(supported(1, 0, 7, backward_weights));
  CHECK(supported(2, 1, 5, forward));
  CHECK(supported(2, 0, 4, forward));
  CHECK_FALSE(supported(2, 1, 4, forward));
  CHECK_FALSE(supported(2, 2, 5, forward));
}
