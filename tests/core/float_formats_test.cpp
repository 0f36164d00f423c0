#include "core/float_formats.h"

#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace ondine;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Format>
struct Codes {
  unsigned sign;      // bit of the sign
  unsigned largest;   // code of the largest finite number
  unsigned infinity;  // what an infinity becomes; NaN where the format has none
  bool has_negative_zero;
  Format (*round)(double, bool);
};

// Checks each two neighbouring codes: both numbers, the numbers beside their middle, and the
// middle, which rounds to the even code.
template <class Format>
void check_rounding(const Codes<Format>& codes) {
  const auto number = [](unsigned code) {
    return static_cast<double>(to_float(Format{static_cast<std::uint8_t>(code)}));
  };
  for (unsigned code = 0; code < codes.largest; ++code) {
    const double low = number(code);
    const double high = number(code + 1);
    const double middle = (low + high) / 2;
    INFO(code << ": " << low << " to " << high);
    REQUIRE(low < high);
    const unsigned even = code % 2 == 0 ? code : code + 1;
    for (const auto& [value, wanted] :
         {std::pair{low, code}, std::pair{std::nextafter(middle, low), code},
          std::pair{middle, even}, std::pair{std::nextafter(middle, high), code + 1},
          std::pair{high, code + 1}}) {
      for (const bool saturate : {false, true}) {
        CHECK(codes.round(value, saturate).bits == wanted);
        const bool lost = wanted == 0 && !codes.has_negative_zero;
        CHECK(codes.round(-value, saturate).bits == (lost ? 0 : wanted | codes.sign));
      }
    }
  }
  // The first number above that would round to one that the format lacks.
  const double most = number(codes.largest);
  const double step = most - number(codes.largest - 1);
  for (const double value : {most + step * 0.75, most * 2, 1e300, infinity}) {
    INFO(value);
    const unsigned sign = codes.has_negative_zero ? codes.sign : 0;
    CHECK(codes.round(value, true).bits == codes.largest);
    CHECK(codes.round(-value, true).bits == (codes.largest | codes.sign));
    CHECK(codes.round(value, false).bits == codes.infinity);
    CHECK(codes.round(-value, false).bits == (codes.infinity | sign));
  }
  CHECK(codes.round(most + step * 0.25, false).bits == codes.largest);
}

}  // namespace

TEST_CASE("floats of 8 and 4 bits round to the nearest, ties to even, at every code") {
  check_rounding<float8e4m3fn>({0x80, 0x7e, 0x7f, true, to_float8e4m3fn});
  check_rounding<float8e4m3fnuz>({0x80, 0x7f, 0x80, false, to_float8e4m3fnuz});
  check_rounding<float8e5m2>({0x80, 0x7b, 0x7c, true, to_float8e5m2});
  check_rounding<float8e5m2fnuz>({0x80, 0x7f, 0x80, false, to_float8e5m2fnuz});
  const auto saturated = [](double value, bool) { return to_float4e2m1(value); };
  for (unsigned code = 0; code < 8; ++code) {
    const double value = static_cast<double>(to_float(float4e2m1{static_cast<std::uint8_t>(code)}));
    CHECK(value == std::array{0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0}[code]);
    CHECK(saturated(value, false).bits == code);
    CHECK(saturated(-value, false).bits == (code | 8));
  }
  CHECK(to_float4e2m1(0.25).bits == 0);
  CHECK(to_float4e2m1(0.75).bits == 2);
  CHECK(to_float4e2m1(5).bits == 6);
  CHECK(to_float4e2m1(7).bits == 7);
  CHECK(to_float4e2m1(-infinity).bits == 15);
}

TEST_CASE("the largest and smallest floats of 8 bits are those of their definition") {
  CHECK(to_float(float8e4m3fn{0x7e}) == 448.0F);
  CHECK(to_float(float8e4m3fn{0x01}) == 0x1p-9F);
  CHECK(to_float(float8e4m3fnuz{0x7f}) == 240.0F);
  CHECK(to_float(float8e4m3fnuz{0x01}) == 0x1p-10F);
  CHECK(to_float(float8e5m2{0x7b}) == 57344.0F);
  CHECK(to_float(float8e5m2{0x01}) == 0x1p-16F);
  CHECK(to_float(float8e5m2fnuz{0x7f}) == 57344.0F);
  CHECK(to_float(float8e5m2fnuz{0x01}) == 0x1p-17F);
}

TEST_CASE("NaN has its codes in the small formats") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(to_float8e4m3fn(nan, true).bits == 0x7f);
  CHECK(to_float8e4m3fn(-nan, true).bits == 0xff);
  CHECK(to_float8e4m3fnuz(-nan, true).bits == 0x80);
  CHECK(to_float8e5m2(-nan, true).bits == 0xff);
  CHECK(to_float8e5m2fnuz(nan, true).bits == 0x80);
  CHECK(to_float4e2m1(nan).bits == 0x08);
  CHECK(to_float8e8m0(nan, true, RoundMode::up).bits == 0xff);
  for (const unsigned code : {0x7fU, 0xffU}) {
    CHECK(std::isnan(to_float(float8e4m3fn{static_cast<std::uint8_t>(code)})));
  }
  for (const unsigned code : {0x7dU, 0x7eU, 0x7fU, 0xfdU}) {
    CHECK(std::isnan(to_float(float8e5m2{static_cast<std::uint8_t>(code)})));
  }
  CHECK(to_float(float8e5m2{0x7c}) == infinity);
  CHECK(to_float(float8e5m2{0xfc}) == -infinity);
  CHECK(std::isnan(to_float(float8e4m3fnuz{0x80})));
  CHECK(std::isnan(to_float(float8e5m2fnuz{0x80})));
  CHECK(std::isnan(to_float(float8e8m0{0xff})));
}

TEST_CASE("powers of two are rounded up, down or to the nearest, ties away from zero") {
  constexpr unsigned nan = 0xff;
  struct Row {
    double value;
    unsigned up, down, nearest;  // without saturation
  };
  const double above = 1 + 0x1p-52;
  for (const Row& row : std::vector<Row>{
           {1, 127, 127, 127},
           {above, 128, 127, 127},
           {1.5 - 0x1p-52, 128, 127, 127},
           {1.5, 128, 127, 128},
           {2 - 0x1p-52, 128, 127, 128},
           {0x1p-126, 1, 1, 1},
           {0x1p-127, 0, 0, 0},
           {0x1p-127 * above, 1, 0, 0},
           {0x1p-127 * 1.5, 1, 0, 1},
           // Below the smallest number, also where rounding would reach it.
           {0x1p-128 * 1.75, nan, nan, nan},
           {0x1p-128, nan, nan, nan},
           {0, nan, nan, nan},
           {0x1p127, 254, 254, 254},
           {0x1p127 * above, nan, 254, 254},
           {0x1p127 * 1.5, nan, 254, nan},
           {0x1p128, nan, nan, nan},
           {infinity, nan, nan, nan},
       }) {
    INFO(row.value);
    const auto check = [&](RoundMode mode, unsigned wanted) {
      CHECK(to_float8e8m0(row.value, false, mode).bits == wanted);
      const unsigned bound = row.value < 1 ? 0 : 0xfe;
      CHECK(to_float8e8m0(row.value, true, mode).bits == (wanted == nan ? bound : wanted));
    };
    check(RoundMode::up, row.up);
    check(RoundMode::down, row.down);
    check(RoundMode::nearest, row.nearest);
  }
  CHECK(to_float8e8m0(-1, true, RoundMode::up).bits == nan);
  CHECK(to_float8e8m0(-infinity, true, RoundMode::up).bits == nan);
  for (unsigned code = 0; code < 0xff; ++code) {
    CHECK(to_float(float8e8m0{static_cast<std::uint8_t>(code)}) ==
          std::ldexp(1.0F, static_cast<int>(code) - 127));
  }
}

TEST_CASE("rounding to odd keeps what a second rounding needs") {
  const double tie = 1 + 0x1p-8;  // between two numbers of bfloat16
  CHECK(to_bfloat16(static_cast<float>(tie + 0x1p-40)).bits == 0x3f80);
  CHECK(to_bfloat16(round_to_odd(tie + 0x1p-40)).bits == 0x3f81);
  CHECK(to_bfloat16(round_to_odd(tie)).bits == 0x3f80);
  CHECK(to_bfloat16(round_to_odd(tie - 0x1p-40)).bits == 0x3f80);
  CHECK(to_bfloat16(round_to_odd(-tie - 0x1p-40)).bits == 0xbf81);
  const double other = 1 + 3 * 0x1p-8;
  CHECK(to_bfloat16(round_to_odd(other - 0x1p-40)).bits == 0x3f81);
  CHECK(to_bfloat16(round_to_odd(other)).bits == 0x3f82);
  CHECK(round_to_odd(1.0) == 1.0F);
  CHECK(round_to_odd(1 + 0x1p-40) == 1 + 0x1p-23F);
  CHECK(round_to_odd(1 - 0x1p-40) == 1 - 0x1p-24F);
  CHECK(std::isnan(round_to_odd(std::numeric_limits<double>::quiet_NaN())));
}
