// Sizes for people.
#include <catch2/catch.hpp>

#include <ondine/human_bytes.h>

using ondine::human_bytes;

TEST_CASE("a size is told in the largest unit of which there is one") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1.0 KiB");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes(std::uint64_t{5} << 20U) == "5.0 MiB");
  CHECK(human_bytes(std::uint64_t{3} << 30U) == "3.0 GiB");
  CHECK(human_bytes(std::uint64_t{7} << 50U) == "7168.0 TiB");
}
