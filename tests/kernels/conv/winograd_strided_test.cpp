// Winograd convolutions of stride 2: tiles that planes fill and do not fill, and each padding.
#include "tests/kernels/conv/conv_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using enum ConvDirection;

// The directions that support the shape, which follow the definition.
int check_tiles(const ConvShape& s, std::string_view name) {
  const ConvCase<float> c(s);
  int supported = 0;
  for (const auto* kernels : all_kernels()) {
    INFO(name << " on " << isa_name(*kernels) << ", " << to_string(s) << " padding " << s.pad[1]
              << " " << s.pad[2]);
    supported = 0;
    for (const auto& entry : conv_implementations<float>()) {
      for (const ConvDirection direction : {forward, backward_data, backward_weights}) {
        const ConvDesc desc{s, direction};
        if (entry.name != name || !entry.supports(desc, *kernels)) continue;
        ++supported;
        INFO("direction " << static_cast<int>(direction));
        check_implementation(c, desc, name, direction != backward_weights, *kernels);
      }
    }
  }
  return supported;
}

// With other padding along columns than along rows, and `end` beyond both.
ConvShape padded(Index batch, Index height, Index width, Index pad_h, Index pad_w, Index end) {
  ConvShape s = shape2(batch, 48, 41, 1, height, width, 3, 3, 2, 1, 0, 0);
  s.pad = {0, pad_h, pad_w};
  s.out[1] = (height + pad_h + end - 3) / 2 + 1;
  s.out[2] = (width + pad_w + end - 3) / 2 + 1;
  return s;
}

}  // namespace

TEST_CASE("Winograd convolutions of stride 2 follow the definition for every padding") {
  for (const Index pad_h : {0, 1, 2}) {
    for (const Index pad_w : {0, 1, 2}) {
      // 7 x 6, 6 x 7 and 6 x 8 results.
      CHECK(check_tiles(padded(4, 15 - pad_h, 13 - pad_w, pad_h, pad_w, 0), "winograd") >= 2);
      CHECK(check_tiles(padded(4, 12 - pad_h, 14 - pad_w, pad_h, pad_w, 1), "winograd") == 3);
      CHECK(check_tiles(padded(4, 12 - pad_h, 15 - pad_w, pad_h, pad_w, 2), "winograd") == 3);
    }
  }
}

TEST_CASE("Winograd convolutions of stride 2 follow the definition for odd and even planes") {
  for (Index size = 11; size < 15; ++size) {
    const ConvShape s = shape2(3, 40, 50, 1, size, 16, 3, 3, 2, 1, 1, 1);
    CHECK(check_tiles(s, "winograd") == 3);
  }
  CHECK(check_tiles(shape2(3, 32, 32, 1, 13, 13, 3, 3, 2, 1, 1, 1), "winograd") == 2);
  // Most tiles, or all, reach beyond an edge.
  CHECK(check_tiles(shape2(8, 64, 70, 1, 10, 9, 3, 3, 2, 1, 1, 1), "winograd") == 2);
  CHECK(check_tiles(shape2(16, 70, 64, 1, 6, 5, 3, 3, 2, 1, 1, 1), "winograd") == 2);
  CHECK(check_tiles(shape2(8, 80, 64, 1, 2, 29, 3, 3, 2, 1, 1, 1), "winograd") >= 1);
  CHECK(check_tiles(shape2(9, 80, 64, 1, 29, 2, 3, 3, 2, 1, 1, 1), "winograd") >= 1);
  CHECK(check_tiles(shape2(40, 128, 64, 1, 1, 2, 3, 3, 2, 1, 1, 1), "winograd") >= 1);
  // Rows and columns beyond the last window.
  ConvShape beyond = shape2(6, 32, 32, 1, 16, 19, 3, 3, 2, 1, 0, 0);
  beyond.out = {1, 6, 8};
  CHECK(check_tiles(beyond, "winograd") == 3);
  // More tiles than a task takes, more channels than are transformed together.
  CHECK(check_tiles(shape2(2, 40, 290, 1, 37, 40, 3, 3, 2, 1, 1, 1), "winograd") == 3);
  CHECK(check_tiles(shape2(1, 32, 32, 1, 8, 300, 3, 3, 2, 1, 1, 1), "winograd") == 3);
}

TEST_CASE("Winograd convolutions of stride 2 and few tiles follow the definition") {
  CHECK(check_tiles(shape2(8, 128, 150, 1, 8, 8, 3, 3, 2, 1, 1, 1), "winograd_panels") == 2);
  CHECK(check_tiles(shape2(4, 150, 128, 1, 8, 15, 3, 3, 2, 1, 0, 1), "winograd_panels") == 2);
}
