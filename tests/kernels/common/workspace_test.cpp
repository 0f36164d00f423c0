#include "kernels/common/workspace.h"

#include <limits>

#include <catch2/catch.hpp>

#include "kernels/common/scratch_pool.h"

using namespace ondine;  // NOLINT
using math::bytes_of;
using math::largest_part;
using math::ScratchPool;

TEST_CASE("a part of a workspace takes whole lines of 64 bytes") {
  CHECK(bytes_of<float>(0) == 0);
  CHECK(bytes_of<float>(16) == 64);
  CHECK(bytes_of<float>(17) == 128);
  CHECK(bytes_of<double>(17) == 192);
}

TEST_CASE("a part of a workspace that addresses do not reach is refused") {
  const auto most = static_cast<std::int64_t>(largest_part);
  CHECK(bytes_of<char>(most) == largest_part);
  CHECK_THROWS_WITH(bytes_of<char>(most + 1), Catch::StartsWith("a part of a workspace "));
  CHECK_THROWS_AS(bytes_of<float>(most / 4 + 1), Error);
  // Bytes whose lower 32 bits are 0.
  CHECK_THROWS_AS(bytes_of<float>(std::int64_t{1} << 62), Error);
  if (sizeof(std::size_t) == 4) CHECK_THROWS_AS(bytes_of<float>(std::int64_t{1} << 30), Error);
  CHECK_THROWS_AS(bytes_of<char>(-1), Error);
}

TEST_CASE("seven parts of a workspace have a sum") {
  CHECK(std::numeric_limits<std::size_t>::max() / largest_part == 7);
}

TEST_CASE("the slots of all threads are two parts of a workspace, or they are refused") {
  CHECK(ScratchPool::bytes(65, 3) == 384);
  CHECK(ScratchPool::bytes(65, 0) == 128);
  CHECK(ScratchPool::bytes(largest_part / 2, 4) == 2 * largest_part);
  CHECK_THROWS_AS(ScratchPool::bytes(largest_part, 3), Error);
  CHECK_THROWS_AS(ScratchPool::bytes(7 * largest_part, 512), Error);
}
