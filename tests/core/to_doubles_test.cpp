#include "core/to_doubles.h"

#include <array>
#include <catch2/catch.hpp>
#include <complex>
#include <limits>

#include "tests/support/bits.h"

using namespace ondine;
using ondine::test::with_bits;

namespace {

using Doubles = std::vector<double>;

using Bytes = std::vector<std::uint8_t>;
using Words = std::vector<std::uint16_t>;

}  // namespace

TEST_CASE("elements of every numeric dtype are read as doubles") {
  CHECK(to_doubles(Tensor::of<float>({2}, {0.5F, -3})) == Doubles{0.5, -3});
  CHECK(to_doubles(Tensor::of<double>({1}, {0.1})) == Doubles{0.1});
  CHECK(to_doubles(with_bits(DType::float16, Words{0x3c00, 0xc000, 0x0001})) ==
        Doubles{1, -2, 0x1p-24});
  CHECK(to_doubles(with_bits(DType::bfloat16, Words{0x3f80, 0xc040})) == Doubles{1, -3});
  CHECK(to_doubles(with_bits(DType::float8e4m3fn, Bytes{0x38, 0xb8, 0x7e})) == Doubles{1, -1, 448});
  CHECK(to_doubles(with_bits(DType::float8e4m3fnuz, Bytes{0x40, 0x7f})) == Doubles{1, 240});
  CHECK(to_doubles(with_bits(DType::float8e5m2, Bytes{0x3c, 0x7b})) == Doubles{1, 57344});
  CHECK(to_doubles(with_bits(DType::float8e5m2fnuz, Bytes{0x40, 0x7f})) == Doubles{1, 57344});
  CHECK(to_doubles(with_bits(DType::float8e8m0, Bytes{127, 128})) == Doubles{1, 2});
  CHECK(to_doubles(with_bits(DType::float4e2m1, Bytes{0x2, 0xf})) == Doubles{1, -6});
  CHECK(to_doubles(Tensor::of<bool>({2}, std::array{false, true})) == Doubles{0, 1});
  CHECK(to_doubles(Tensor::of<std::uint8_t>({1}, {255})) == Doubles{255});
  CHECK(to_doubles(Tensor::of<std::int8_t>({1}, {-128})) == Doubles{-128});
  CHECK(to_doubles(Tensor::of<std::uint16_t>({1}, {65535})) == Doubles{65535});
  CHECK(to_doubles(Tensor::of<std::int16_t>({1}, {-32768})) == Doubles{-32768});
  CHECK(to_doubles(Tensor::of<std::uint32_t>({1}, {4294967295U})) == Doubles{4294967295.0});
  CHECK(to_doubles(Tensor::of<std::int32_t>({1}, {-7})) == Doubles{-7});
  CHECK(to_doubles(Tensor::of<std::uint64_t>({1}, {std::uint64_t{1} << 63})) == Doubles{0x1p63});
  CHECK(to_doubles(Tensor::of<std::int64_t>({1}, {-(std::int64_t{1} << 53) - 1})) ==
        Doubles{-0x1p53});
}

TEST_CASE("integers below 8 bits are read from a byte each, with their sign") {
  CHECK(to_doubles(with_bits(DType::uint4, Bytes{0, 15})) == Doubles{0, 15});
  CHECK(to_doubles(with_bits(DType::int4, Bytes{7, 0xf8})) == Doubles{7, -8});
  CHECK(to_doubles(with_bits(DType::uint2, Bytes{3, 1})) == Doubles{3, 1});
  CHECK(to_doubles(with_bits(DType::int2, Bytes{1, 0xfe})) == Doubles{1, -2});
}

TEST_CASE("tensors without elements give no doubles, those of other types nothing at all") {
  CHECK(to_doubles(Tensor(DType::float32, {0, 3})) == Doubles{});
  CHECK_FALSE(to_doubles(Tensor::of<std::string>({1}, {"1"})).has_value());
  CHECK_FALSE(to_doubles(Tensor(DType::complex64, {1})).has_value());
  CHECK_FALSE(to_doubles(Tensor(DType::complex128, {1})).has_value());
  CHECK_FALSE(to_doubles(Tensor()).has_value());
}
