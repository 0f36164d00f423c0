#include "core/byte_order.h"

#include <array>
#include <bit>

#include <catch2/catch.hpp>

using namespace ondine;

namespace {

std::array<std::byte, 8> swapped(DType dtype) {
  std::array<std::byte, 8> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(i);
  swap_numbers(bytes, dtype);
  return bytes;
}

std::array<std::byte, 8> order(std::array<unsigned char, 8> values) {
  return std::bit_cast<std::array<std::byte, 8>>(values);
}

}  // namespace

TEST_CASE("bytes of numbers are reversed in place, both parts of complex numbers separately") {
  CHECK(swapped(DType::int8) == order({0, 1, 2, 3, 4, 5, 6, 7}));
  CHECK(swapped(DType::boolean) == order({0, 1, 2, 3, 4, 5, 6, 7}));
  CHECK(swapped(DType::bfloat16) == order({1, 0, 3, 2, 5, 4, 7, 6}));
  CHECK(swapped(DType::float32) == order({3, 2, 1, 0, 7, 6, 5, 4}));
  CHECK(swapped(DType::complex64) == order({3, 2, 1, 0, 7, 6, 5, 4}));
  CHECK(swapped(DType::int64) == order({7, 6, 5, 4, 3, 2, 1, 0}));
}
