#include "graph/training/prepare/updates/loss_scale.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <ondine/error.h>

using namespace ondine;
using namespace ondine::graph;

TEST_CASE("loss scales are from 2^-64 to 2^64, both included") {
  const float least = std::ldexp(1.0F, -64);
  const float largest = std::ldexp(1.0F, 64);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float scale : {least, 1.0F, largest}) {
    CHECK_NOTHROW(check_loss_scale(StaticLossScale{scale}));
    CHECK_NOTHROW(check_loss_scale(DynamicLossScale{.initial = scale}));
  }
  for (const float scale : {std::nextafter(least, 0.0F), std::nextafter(largest, infinity), 0.0F,
                            -1.0F, infinity, std::numeric_limits<float>::quiet_NaN()}) {
    CHECK_THROWS_WITH(check_loss_scale(StaticLossScale{scale}), Catch::Contains("[2^-64, 2^64]"));
    CHECK_THROWS_WITH(check_loss_scale(DynamicLossScale{.initial = scale}),
                      Catch::Contains("[2^-64, 2^64]"));
  }
  CHECK_NOTHROW(check_loss_scale(DynamicLossScale{.growth_interval = 1}));
  CHECK_THROWS_WITH(check_loss_scale(DynamicLossScale{.growth_interval = 0}),
                    Catch::Contains("growth interval"));
  CHECK_NOTHROW(check_loss_scale(NoLossScale{}));
}
