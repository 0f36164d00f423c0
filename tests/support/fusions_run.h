// Tests of what fusions make of a graph.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>

namespace ondine::test {

// Whether the environment leaves all fusions on; warns that the test is skipped where it does not.
inline bool fusions_run() {
  if (std::getenv("ONDINE_NO_FUSION") == nullptr) return true;
  WARN("ONDINE_NO_FUSION is set: skipped");
  return false;
}

}  // namespace ondine::test
