#include "kernels/common/kernel_scratch.h"

#include <limits>

#include <catch2/catch.hpp>

using namespace ondine;  // NOLINT
using kernels::Scratch;

TEST_CASE("the parts of a workspace are aligned and follow each other") {
  Scratch scratch;
  CHECK(scratch.add<float>(17) == 0);
  CHECK(scratch.add<double>(1) == 128);
  CHECK(scratch.add_bytes(64) == 192);
  CHECK(scratch.add<char>(1) == 256);
}

TEST_CASE("a workspace that the address space does not hold is refused, whole or by its parts") {
  const std::int64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  CHECK_THROWS_AS(Scratch().add<double>(most / 8 + 1), Error);
  Scratch scratch;
  scratch.add<char>(most / 2 + 1);
  CHECK_THROWS_AS(scratch.add<char>(most / 2 + 1), Error);
}
