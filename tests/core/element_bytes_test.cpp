#include "core/element_bytes.h"

#include <limits>

#include <catch2/catch.hpp>

using namespace ondine;  // NOLINT

TEST_CASE("elements take a whole number of bytes each, those of small types one") {
  CHECK(element_bytes(0, DType::float32) == 0);
  CHECK(element_bytes(5, DType::float32) == 20);
  CHECK(element_bytes(5, DType::float16) == 10);
  CHECK(element_bytes(5, DType::int4) == 5);
}

TEST_CASE("elements that the address space does not hold are refused, whatever their width") {
  const std::int64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  CHECK(element_bytes(most, DType::uint8) == static_cast<std::size_t>(most));
  CHECK_THROWS_AS(element_bytes(most / 4 + 1, DType::float32), Error);
  // Bytes whose lower half is 0: a size of 32 bits would be 0.
  CHECK_THROWS_AS(element_bytes(std::int64_t{1} << 60, DType::complex128), Error);
}
