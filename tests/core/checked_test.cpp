#include "core/checked.h"

#include <limits>
#include <string>

#include <catch2/catch.hpp>

using namespace ondine;  // NOLINT
using Catch::Contains;

TEST_CASE("a size that the address space does not hold is refused by its name and bytes") {
  constexpr auto most = std::numeric_limits<std::ptrdiff_t>::max();
  CHECK(size_in_memory(0, "a file") == 0);
  CHECK(size_in_memory(static_cast<std::uint64_t>(most), "a file") ==
        static_cast<std::size_t>(most));
  const auto beyond = static_cast<std::uint64_t>(most) + 1;
  CHECK_THROWS_WITH(size_in_memory(beyond, "file 'a'"),
                    Contains("file 'a' of " + std::to_string(beyond) + " bytes is larger than"));
}

TEST_CASE("a number of elements that the address space does not hold is refused") {
  CHECK(count_in_memory(5, 8, "rows") == 5);
  CHECK_THROWS_AS(count_in_memory(std::numeric_limits<std::uint64_t>::max() / 8, 8, "rows"), Error);
  CHECK_THROWS_AS(count_in_memory(std::numeric_limits<std::uint64_t>::max(), 8, "rows"), Error);
}

TEST_CASE("products and sums of sizes that overflow are refused") {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(checked_mul(most, 1) == most);
  CHECK(checked_add(most, 0) == most);
  CHECK_THROWS_AS(checked_mul(most, 2), Error);
  CHECK_THROWS_AS(checked_add(most, 1), Error);
}
